/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* mid_mt.c: blocks of 8 to 32 KiB in several threads that share nothing.
 *
 * what      Arguments: threads, cycles of each thread, working set of each thread, seed. A cycle frees the block of a
 *           random slot and puts a block of 8 to 32 KiB there.
 * owner     Each thread has separate slots.
 * hot path  Slots and sizes come from tables made before from the seed, a different table in each thread.
 * failure   As the harness.
 * not here  The same in one thread: replace_mid in micro.c.
 */
#define _GNU_SOURCE
#include "harness/crew.h"
#include "harness/replace.h"

static const struct replace SHAPE = {.low = 8 << 10, .high = 32 << 10, .steps = 1 << 16};

static uint64_t g_threads = 4, g_cycles = 60000, g_working_set = 256, g_seed = 1;
static struct replace g_own[MOST_WORKERS];

static void job(unsigned index)
{
    if (g_own[index].slot[0] == NULL)
        replace_fill(&g_own[index]);
    replace_run(&g_own[index], (uint32_t)g_cycles);
}

static void setup(void)
{
    for (uint64_t i = 0; i < g_threads; i++) {
        struct random random = {g_seed + i};
        g_own[i] = SHAPE;
        g_own[i].slots = (uint32_t)g_working_set;
        replace_prepare(&g_own[i], &random);
    }
    g_operations = g_threads * g_cycles;
    crew_open((unsigned)g_threads, job);
}

static const struct row g_rows[] = {
    {.name = "mid_mt", .operation = "free a random slot of 256, malloc 8-32 KiB, write; all threads together",
     .threads = 4, .setup = setup, .repeat = crew_repeat, .finish = crew_close},
};

static const struct parameter g_parameters[] = {
    {"threads", &g_threads, 1, MOST_WORKERS},
    {"cycles", &g_cycles, 1, 1u << 30},
    {"working_set", &g_working_set, 1, 1 << 16},
    {"seed", &g_seed, 0, UINT64_MAX},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
