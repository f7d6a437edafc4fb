/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* replace.h: random replacement: free what a random slot holds, allocate a block of random size in its place.
 *
 * what      replace_prepare draws a table of (slot, size) steps, replace_fill puts a block into every slot, replace_run
 *           continues through the table, and from the end at the start again:
 *
 *               step     slot 17, 96 B | slot 3, 24 B | slot 17, 120 B | ...     one word each: slot << shift | size
 *
 * owner     The caller owns the shape; each thread has a separate shape. Slots and steps are pages of the harness.
 * hot path  replace_run: one word of the table, one free, one malloc, one write.
 * failure   As base.h; a shape whose steps do not fit into 32 bits is refused.
 * not here  Which sizes and how many slots: the programs.
 */
#ifndef HAKMEM_BENCH_REPLACE_H
#define HAKMEM_BENCH_REPLACE_H

#include "harness.h"

struct replace {
    uint32_t slots, low, high; /* sizes low..high bytes, both included */
    uint32_t steps;            /* length of the table, a power of two */
    unsigned shift;
    uint32_t next;
    void **slot;
    uint32_t *step;
};

static inline void replace_prepare(struct replace *r, struct random *random)
{
    r->shift = 32u - (unsigned)__builtin_clz(r->high);
    if (r->low > r->high || r->low < sizeof(uint64_t))
        die("bench: the smallest size must be at least 8 and at most the largest");
    if ((uint64_t)r->slots << r->shift > (uint64_t)UINT32_MAX + 1)
        die("bench: too many slots for blocks of this size");
    r->slot = pages(r->slots * sizeof *r->slot);
    r->step = pages(r->steps * sizeof *r->step);
    for (uint32_t i = 0; i < r->steps; i++) {
        uint32_t slot = random_below(random, r->slots);
        r->step[i] = slot << r->shift | random_between(random, r->low, r->high);
    }
}

static inline void replace_fill(const struct replace *r)
{
    uint32_t mask = (1u << r->shift) - 1;
    for (uint32_t i = 0; i < r->slots; i++)
        touch(r->slot[i] = must(malloc(r->step[i & (r->steps - 1)] & mask)), i);
}

static inline void replace_run(struct replace *r, uint32_t count)
{
    unsigned shift = r->shift;
    uint32_t mask = (1u << shift) - 1, wrap = r->steps - 1, next = r->next;
    void **slot = r->slot;
    const uint32_t *step = r->step;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t now = step[next++ & wrap];
        free(slot[now >> shift]);
        touch(slot[now >> shift] = must(malloc(now & mask)), i);
    }
    r->next = next;
}

/* Fills every slot, then replaces as often as there are slots, so that no repetition meets a heap in order. */
static inline void replace_start(struct replace *r, struct random *random)
{
    replace_prepare(r, random);
    replace_fill(r);
    replace_run(r, r->slots);
}

#endif
