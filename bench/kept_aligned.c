/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kept_aligned.c: address space and memory of aligned blocks that are replaced at random.
 *
 * what      `blocks` live blocks of 128, 256 or 512 KiB, aligned to 64 KiB; then `rounds` rounds of `blocks`
 *           replacements each: a random block is freed and a new block allocated in its slot, every page written.
 *
 *           range_kib       addresses that any block ever lay at, in units of 64 KiB: a reused unit counts once,
 *                           gaps between mappings do not count
 *           most_live_kib   exact peak of the bytes asked for
 *           own_kib         this program's own arrays, which are resident all the time
 * owner     The main thread.
 * hot path  The replacements; the addresses are noted between the rounds, outside the time.
 * failure   As base.h; die when the blocks used more than 16 GiB of addresses.
 * not here  Blocks that are not aligned: kept_slots.c.
 */
#define _GNU_SOURCE
#include "harness/page_set.h"
#include "harness/slots.h"
#include <malloc.h>

enum { ALIGNMENT = 64 << 10, LEAST = 128 << 10, SIZES = 3, MOST_BLOCKS = 1 << 16 };
#define MOST_RANGE ((size_t)16 << 30)

static uint64_t g_blocks = 2000, g_rounds = 10;
static struct slot *g_slot, *g_noted; /* live blocks; blocks allocated since addresses were last noted */
static size_t g_noted_count;
static struct page_set g_range; /* units of 64 KiB */
static struct random g_random = {.state = 42};

static void fill(struct slot *slot)
{
    slot->bytes = (uint32_t)LEAST << random_below(&g_random, SIZES);
    slot->block = must(memalign(ALIGNMENT, slot->bytes));
    live_add(slot->bytes);
    write_pages(slot->block, slot->bytes);
    g_noted[g_noted_count++] = *slot;
}

static void replace_one(void)
{
    struct slot *slot = &g_slot[random_below(&g_random, (uint32_t)g_blocks)];
    atomic_fetch_sub(&g_live, slot->bytes);
    free(slot->block);
    fill(slot);
}

static void note_addresses(void)
{
    for (size_t i = 0; i < g_noted_count; i++)
        for (uint32_t at = 0; at < g_noted[i].bytes; at += ALIGNMENT)
            page_set_add_page(&g_range, ((uintptr_t)g_noted[i].block + at) / ALIGNMENT);
    if (g_range.found > MOST_RANGE / ALIGNMENT)
        die("bench: more addresses were used than there is room to note");
    g_noted_count = 0;
}

static void aligned_setup(void)
{
    g_slot = pages(g_blocks * sizeof *g_slot);
    g_noted = pages(g_blocks * sizeof *g_noted);
    g_range = page_set_open(MOST_RANGE / ALIGNMENT * PAGE, 0);
    for (uint64_t i = 0; i < g_blocks; i++)
        fill(&g_slot[i]);
    note_addresses();
    g_operations = g_blocks * g_rounds;
}

static uint64_t aligned_repeat(void)
{
    uint64_t spent = 0;
    for (uint64_t round = 0; round < g_rounds; round++) {
        uint64_t start = now_ns();
        for (uint64_t i = 0; i < g_blocks; i++)
            replace_one();
        spent += now_ns() - start;
        note_addresses();
    }
    return spent;
}

static void aligned_finish(void)
{
    report("range_kib", (double)(g_range.found * (ALIGNMENT >> 10)));
    report("most_live_kib", (double)most_live() / 1024);
    report("own_kib", (double)((g_range.slots * sizeof *g_range.page + 2 * g_blocks * sizeof *g_slot) >> 10));
}

static const struct row g_rows[] = {
    {.name = "kept_aligned", .threads = 1, .once = true,
     .operation = "free a random one of 2,000 blocks, memalign(64 KiB) of 128, 256 or 512 KiB, all pages written",
     .setup = aligned_setup, .repeat = aligned_repeat, .finish = aligned_finish},
};

static const struct parameter g_parameters[] = {
    {"blocks", &g_blocks, 1, MOST_BLOCKS},
    {"rounds", &g_rounds, 0, 10000},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
