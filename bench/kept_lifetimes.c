/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kept_lifetimes.c: cost of long-lived blocks among short-lived blocks.
 *
 * what      A window of short-lived blocks, a random block replaced per step, and one long-lived block per 16 steps;
 *           then the window is freed and wide blocks are allocated, too wide for the holes between the long-lived
 *           blocks. Three times. Every page is written.
 *
 *               apart    [stays|stays| . . . wide . . . . . . wide . . .]
 *               mixed    [. . |stays| . . . |stays| . |stays| . . . . . ][ . . . wide . . . . . . wide . . .]
 *
 *               kept_lifetimes          260-510 KiB, then 900. Two call sites: one for long-lived, one for
 *                                       short-lived blocks
 *               kept_lifetimes_mixed    one call site for all blocks
 *               kept_lifetimes_short    66-250 KiB, then 450
 *
 *           most_live_kib   peak of the bytes asked for, beside the peak of the resident set
 * owner     The main thread, the only thread.
 * failure   As base.h.
 */
#define _GNU_SOURCE
#include <string.h>

#include "harness/slots.h"

enum { KIB = 1024, PHASES = 3, STAYS_EVERY = 16 };

struct sizes {
    uint32_t least, most, wide;
};

static const struct sizes g_long = {260 * KIB, 510 * KIB, 900 * KIB}, g_short = {66 * KIB, 250 * KIB, 450 * KIB};
static struct sizes g_sizes;

static uint64_t g_window = 1000;
static struct slot *g_slot;
static struct random g_random = {42};

static __attribute__((noinline)) void *block_that_goes(size_t bytes)
{
    void *volatile block = written_block(bytes);
    return block;
}

static __attribute__((noinline)) void *block_that_stays(size_t bytes)
{
    void *volatile block = write_pages(must(malloc(bytes)), bytes);
    return block;
}

static bool row_has(const char *word)
{
    return strstr(g_row->name, word) != NULL;
}

static uint32_t next_size(void)
{
    return random_between(&g_random, g_sizes.least, g_sizes.most);
}

static void take(struct slot *slot, uint32_t bytes)
{
    slot->bytes = bytes;
    slot->block = block_that_goes(bytes);
    live_add(bytes);
}

static void give(struct slot *slot)
{
    live_add(-(uint64_t)slot->bytes);
    free(slot->block);
    *slot = (struct slot){NULL, 0};
}

/* Allocates a block that is never freed. */
static void keep_one(void)
{
    uint32_t bytes = next_size();
    live_add(bytes);
    (row_has("mixed") ? block_that_goes : block_that_stays)(bytes);
}

static void pass_phase(void)
{
    for (uint64_t i = 0; i < 2 * g_window; i++) {
        struct slot *slot = &g_slot[random_below(&g_random, (uint32_t)g_window)];
        if (slot->block != NULL)
            give(slot);
        take(slot, next_size());
        if (i % STAYS_EVERY == 0)
            keep_one();
    }
    for (uint64_t i = 0; i < g_window; i++)
        give(&g_slot[i]);
    for (uint64_t i = 0; i < g_window / 3; i++)
        take(&g_slot[i], g_sizes.wide);
    for (uint64_t i = 0; i < g_window; i++)
        give(&g_slot[i]);
}

static void lifetimes_setup(void)
{
    g_slot = pages(g_window * sizeof *g_slot);
    g_sizes = row_has("short") ? g_short : g_long;
}

static uint64_t lifetimes_repeat(void)
{
    uint64_t start = now_ns();
    for (unsigned phase = 0; phase < PHASES; phase++)
        pass_phase();
    g_operations = PHASES * g_window * 2;
    return now_ns() - start;
}

static void lifetimes_finish(void)
{
    report("most_live_kib", (double)most_live() / KIB);
}

static const struct row g_rows[] = {
    {.name = "kept_lifetimes", .operation = "replace one of 1,000 x 260-510 KiB, one in 16 stays, all pages written",
     .threads = 1, .once = true, .setup = lifetimes_setup, .repeat = lifetimes_repeat, .finish = lifetimes_finish},
    {.name = "kept_lifetimes_mixed", .operation = "the same, all asked for in one place",
     .threads = 1, .once = true, .setup = lifetimes_setup, .repeat = lifetimes_repeat, .finish = lifetimes_finish},
    {.name = "kept_lifetimes_short", .operation = "the same of 66-250 KiB, two places ask",
     .threads = 1, .once = true, .setup = lifetimes_setup, .repeat = lifetimes_repeat, .finish = lifetimes_finish},
};

static const struct parameter g_parameters[] = {{"window", &g_window, 3, 1 << 16}};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
