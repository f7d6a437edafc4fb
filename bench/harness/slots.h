/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slots.h: a few large blocks; a random block is replaced again and again by a block of another size.
 *
 * what      slots_fill puts a block into every slot; slots_replace frees the block of a random slot and allocates a new
 *           block for the slot, every page written. Sizes are uniform.
 *
 *               slot      [  8 MiB  ] [ 2 MiB ] [    17 MiB    ] ...      most_live(): the most bytes so far
 *
 *           Blocks count as live from malloc's return to free's call, with the requested bytes.
 * owner     Slots belong to one thread, the sums to all threads.
 * orders    Each sum is atomic; the sums together are not.
 * hot path  slots_replace: writing the pages takes far longer than the two sums.
 * failure   As base.h.
 * not here  Sizes and number of slots: kept_slots.c, kept_beside.c. Small blocks: replace.h.
 */
#ifndef HAKMEM_BENCH_SLOTS_H
#define HAKMEM_BENCH_SLOTS_H

#include "written.h"
#include <stdatomic.h>

struct slot {
    void *block;
    uint32_t bytes;
};

struct slots {
    _Alignas(64) struct random random;
    uint32_t count, least, most; /* sizes least..most bytes, both included */
    struct slot *slot;
    uint64_t replaced;
};

static _Atomic uint64_t g_live, g_most_live;

static inline void live_add(uint64_t bytes)
{
    uint64_t live = atomic_fetch_add(&g_live, bytes) + bytes, most = atomic_load(&g_most_live);
    while (most < live && !atomic_compare_exchange_weak(&g_most_live, &most, live))
        ;
}

static inline uint64_t most_live(void)
{
    return atomic_load(&g_most_live);
}

static inline void slot_fill(struct slots *s, struct slot *slot)
{
    slot->bytes = random_between(&s->random, s->least, s->most);
    slot->block = must(malloc(slot->bytes));
    live_add(slot->bytes);
    write_pages(slot->block, slot->bytes);
}

static inline void slots_fill(struct slots *s)
{
    s->slot = pages(s->count * sizeof *s->slot);
    for (uint32_t i = 0; i < s->count; i++)
        slot_fill(s, &s->slot[i]);
}

static inline struct slot *random_slot(struct slots *s)
{
    return &s->slot[random_below(&s->random, s->count)];
}

static inline void slots_replace(struct slots *s)
{
    struct slot *slot = random_slot(s);
    atomic_fetch_sub(&g_live, slot->bytes);
    free(slot->block);
    slot_fill(s, slot);
    s->replaced++;
}

#endif
