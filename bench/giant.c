/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* giant.c: a working set that no cache and no translation buffer holds.
 *
 * what      `mib` MiB in blocks of 64-4,096 bytes; one operation frees the block of a random slot and allocates a block
 *           of random size for the slot. live_kib: bytes asked for by the blocks at the end.
 * owner     The main thread. A block's first word is its size.
 * hot path  Slots and sizes come from a table longer than a repetition; each repetition continues where the last
 *           repetition ended.
 * failure   die when a block's first word has changed.
 * not here  Smaller working sets: replace_8k, replace_1m, random_mixed.
 */
#define _GNU_SOURCE
#include "harness/harness.h"

enum { SMALLEST = 64, LARGEST = 4096, MEAN = (SMALLEST + LARGEST) / 2, STEPS = 1 << 18, REPETITION = 1 << 14 };

struct step {
    uint32_t slot, bytes;
};

static uint64_t g_mib = 512;
static uint32_t g_slots, g_next;
static void **g_slot;
static struct step *g_step;

static void replace_run(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct step step = g_step[g_next++ % STEPS];
        free(g_slot[step.slot]);
        touch(g_slot[step.slot] = must(malloc(step.bytes)), step.bytes);
    }
}

/* Fills every slot, then replaces as often as there are slots, so that the first repetition meets a heap in random
 * order. */
static void giant_setup(void)
{
    struct random r = {.state = 42};
    g_slots = (uint32_t)((g_mib << 20) / MEAN);
    g_slot = pages(g_slots * sizeof *g_slot);
    g_step = pages(STEPS * sizeof *g_step);
    for (uint32_t i = 0; i < STEPS; i++)
        g_step[i] = (struct step){random_below(&r, g_slots), random_between(&r, SMALLEST, LARGEST)};
    for (uint32_t i = 0; i < g_slots; i++)
        touch(g_slot[i] = must(malloc(g_step[i % STEPS].bytes)), g_step[i % STEPS].bytes);
    replace_run(g_slots);
}

static uint64_t giant_repeat(void)
{
    uint64_t start = now_ns();
    replace_run(REPETITION);
    return now_ns() - start;
}

static void giant_finish(void)
{
    uint64_t live = 0;
    for (uint32_t i = 0; i < g_slots; i++) {
        uint64_t bytes = *(volatile uint64_t *)g_slot[i];
        if (bytes < SMALLEST || bytes > LARGEST)
            die("bench: a block has lost its first word");
        live += bytes;
    }
    report("live_kib", (double)(live >> 10));
    report("own_kib", (double)((g_slots * sizeof *g_slot + STEPS * sizeof *g_step) >> 10));
}

static const struct row g_rows[] = {
    {.name = "giant", .operation = "free a random block of 512 MiB, malloc 64-4,096 B, write", .operations = REPETITION,
     .threads = 1, .setup = giant_setup, .repeat = giant_repeat, .finish = giant_finish},
};

static const struct parameter g_parameters[] = {
    {"mib", &g_mib, 1, 1u << 15},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
