/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sharing.c: false sharing: whether blocks of different threads lie in one cache line.
 *
 * what      Each thread allocates 8 blocks of 16 bytes, writes each block 64 times more, frees the blocks, and starts
 *           again.
 *               sharing_active    after cache-thrash: each thread writes blocks of its own
 *               sharing_passive   after cache-scratch: each first frees 8 blocks that the main thread allocated and
 *                                 dealt out in turn, so that every cache line has blocks of several threads
 *           (Both after the ideas of Hoard's benchmarks: Berger, McKinley, Blumofe and Wilson 2000.)
 * owner     The main thread's blocks belong to the workers that receive the blocks.
 * hot path  An allocator that hands two threads blocks of one line pays with every write.
 * failure   As the harness.
 * not here  Blocks that are handed over to be read: prodcons.c.
 */
#define _GNU_SOURCE
#include "harness/crew.h"

enum { NEIGHBOURS = 8, NEIGHBOUR_BYTES = 16, WRITES = 64 };

static uint64_t g_threads = 2;
static void *g_handed[MOST_WORKERS][NEIGHBOURS];

/* Allocates NEIGHBOURS blocks, writes the first word of each WRITES times, frees the blocks. */
static void scratch(void)
{
    void *own[NEIGHBOURS];
    for (unsigned i = 0; i < NEIGHBOURS; i++)
        touch(own[i] = must(malloc(NEIGHBOUR_BYTES)), 0);
    for (unsigned i = 0; i < NEIGHBOURS; i++)
        for (unsigned n = 0; n < WRITES; n++)
            ++*(volatile uint64_t *)own[i];
    for (unsigned i = 0; i < NEIGHBOURS; i++)
        free(own[i]);
}

static void active_job(unsigned index)
{
    (void)index;
    for (uint64_t left = g_row->operations; left > 0; left -= NEIGHBOURS)
        scratch();
}

static void passive_job(unsigned index)
{
    for (unsigned i = 0; i < NEIGHBOURS; i++)
        free(g_handed[index][i]);
    active_job(index);
}

static void active_setup(void)
{
    g_operations = g_row->operations * g_threads;
    crew_open((unsigned)g_threads, active_job);
}

static void passive_setup(void)
{
    g_operations = g_row->operations * g_threads;
    crew_open((unsigned)g_threads, passive_job);
}

static uint64_t passive_repeat(void)
{
    for (unsigned i = 0; i < NEIGHBOURS; i++)
        for (uint64_t thread = 0; thread < g_threads; thread++)
            touch(g_handed[thread][i] = must(malloc(NEIGHBOUR_BYTES)), i);
    return crew_repeat();
}

static const struct row g_rows[] = {
    {.name = "sharing_active", .operation = "malloc(16), 65 writes, free, in each thread",
     .operations = 40000, .threads = 2, .setup = active_setup, .repeat = crew_repeat, .finish = crew_close},
    {.name = "sharing_passive", .operation = "the same, after each thread freed 8 blocks that were handed to it",
     .operations = 40000, .threads = 2, .setup = passive_setup, .repeat = passive_repeat, .finish = crew_close},
};

static const struct parameter g_parameters[] = {{"threads", &g_threads, 1, MOST_WORKERS}};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
