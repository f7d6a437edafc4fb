/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* contention.c: many threads that send one size class through the stores shared by all threads.
 *
 * what      Every thread allocates bursts of 4,096 blocks of 64 B, far more than the thread's cache holds, and frees
 *           the blocks:
 *               contention_burst      a thread frees its own burst
 *               contention_exchange   a thread swaps its burst for the burst in a mailbox and frees the latter
 *           With more threads than cores this is a simulation: threads take turns, and the figure shows a lock whose
 *           holder loses the core, not scaling over cores.
 * owner     A burst belongs to the thread that took the burst out of the mailbox.
 * locks     None in the timed part.
 * orders    A mailbox is exchanged with acquire and release, so the new owner sees the blocks.
 * hot path  The loop has no clock and no system call.
 * failure   As the harness.
 * not here  Context switches and system calls: the runner counts them.
 */
#define _GNU_SOURCE
#include "harness/crew.h"

enum { MOST_CONTENDERS = 64, BURST = 4096, BURST_BYTES = 64, BURSTS = 64 };

struct burst {
    uint32_t count;
    void *block[BURST];
};

static uint64_t g_threads = 4;
static struct burst *g_own[MOST_CONTENDERS];
static _Alignas(64) struct burst *_Atomic g_mailbox[MOST_CONTENDERS];

static void burst_fill(struct burst *burst)
{
    for (unsigned i = 0; i < BURST; i++)
        touch(burst->block[i] = must(malloc(BURST_BYTES)), i);
    burst->count = BURST;
}

static void burst_empty(struct burst *burst)
{
    for (unsigned i = 0; i < burst->count; i++)
        free(burst->block[i]);
    burst->count = 0;
}

static void burst_job(unsigned index)
{
    for (uint64_t i = 0; i < BURSTS / g_threads; i++) {
        burst_fill(g_own[index]);
        burst_empty(g_own[index]);
    }
}

static struct burst *swap_burst(struct burst *burst, uint64_t mailbox)
{
    return atomic_exchange_explicit(&g_mailbox[mailbox % g_threads], burst, memory_order_acq_rel);
}

static void exchange_job(unsigned index)
{
    struct burst *burst = g_own[index];
    for (uint64_t i = 0; i < BURSTS / g_threads; i++) {
        burst_fill(burst);
        burst = swap_burst(burst, index + i);
        burst_empty(burst);
    }
    g_own[index] = burst;
}

static void open_threads(void (*job)(unsigned index))
{
    for (uint64_t i = 0; i < g_threads; i++) {
        g_own[i] = pages(sizeof(struct burst));
        atomic_store(&g_mailbox[i], pages(sizeof(struct burst)));
    }
    g_operations = BURSTS / g_threads * g_threads * BURST;
    crew_open((unsigned)g_threads, job);
}

static void burst_setup(void)
{
    open_threads(burst_job);
}

static void exchange_setup(void)
{
    open_threads(exchange_job);
}

static const struct row g_rows[] = {
    {.name = "contention_burst", .operation = "one of 4,096 blocks of 64 B: malloc, write, free, all threads together",
     .threads = 4, .setup = burst_setup, .repeat = crew_repeat, .finish = crew_close},
    {.name = "contention_exchange", .operation = "the same, but each thread frees what another one allocated",
     .threads = 4, .setup = exchange_setup, .repeat = crew_repeat, .finish = crew_close},
};

static const struct parameter g_parameters[] = {{"threads", &g_threads, 1, MOST_CONTENDERS}};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
