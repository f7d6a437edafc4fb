/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* larson.c: a server's threads: a thread replaces its predecessors' blocks for a while and leaves new blocks behind.
 *
 * what      Written anew after Larson and Krishnan, "Memory Allocation for Long-Running Server Applications" (1998).
 *           Arguments: seconds, min, max, chunks, rounds, seed, threads. Each of `threads` chains has an array of
 *           `chunks` blocks of min to max bytes, filled and shuffled by the main thread. A thread frees the block of a
 *           random place and allocates a block of random size there, rounds x chunks times, then starts a successor,
 *           which continues with the same array, and ends:
 *
 *               chain 0   thread ---> thread ---> thread ---> ...        chain 1   thread ---> thread ---> ...
 *
 *           The figure is wall time over the replacements of all threads together; threads_started: number of threads.
 * owner     A chain belongs to the thread that is alive in it.
 * locks     A semaphore that the last thread of each chain raises.
 * orders    pthread_create hands a chain over; the semaphore hands the chain back to the main thread.
 * hot path  replace_run, in slices; between two slices a thread checks whether the time is over.
 * failure   As the harness.
 * not here  Threads that are started to allocate and die: churn.c.
 */
#define _GNU_SOURCE
#include "harness/replace.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { MOST_CHAINS = 256, SLICE = 1024, LEAST_BYTES = 8, MOST_BYTES = 65535, MOST_CHUNKS = 65535 };

struct chain {
    _Alignas(64) struct replace blocks;
    uint64_t operations, threads_started;
};

static uint64_t g_seconds = 2, g_min = 8, g_max = 128, g_chunks = 1024, g_rounds = 1, g_seed = 12345, g_threads = 4;
static struct chain g_chain[MOST_CHAINS];
static pthread_attr_t g_detached;
static _Alignas(64) atomic_bool g_over;
static sem_t g_ended;

/* ---- one thread ---- */

/* False when the time is over. */
static bool live(struct chain *chain)
{
    for (uint64_t left = g_rounds * g_chunks, slice; left > 0; left -= slice) {
        if (atomic_load_explicit(&g_over, memory_order_relaxed))
            return false;
        slice = left < SLICE ? left : SLICE;
        replace_run(&chain->blocks, (uint32_t)slice);
        chain->operations += slice;
    }
    return true;
}

static void start_thread(struct chain *chain);

static void *thread_main(void *argument)
{
    struct chain *chain = argument;
    if (live(chain))
        start_thread(chain);
    else
        sem_post(&g_ended);
    return NULL;
}

static void start_thread(struct chain *chain)
{
    pthread_t thread;
    chain->threads_started++;
    if (pthread_create(&thread, &g_detached, thread_main, chain) != 0)
        die("bench: cannot start a thread");
}

/* ---- the main thread ---- */

/* The main thread allocates the blocks of all chains in turn, then replaces four times as many. */
static void setup(void)
{
    for (uint64_t i = 0; i < g_threads; i++) {
        struct random random = {g_seed + i};
        g_chain[i].blocks = (struct replace){.slots = (uint32_t)g_chunks, .low = (uint32_t)g_min,
                                             .high = (uint32_t)g_max, .steps = 1 << 16};
        replace_prepare(&g_chain[i].blocks, &random);
        replace_fill(&g_chain[i].blocks);
    }
    for (uint64_t i = 0; i < g_threads; i++)
        replace_run(&g_chain[i].blocks, 4 * (uint32_t)g_chunks);
    pthread_attr_init(&g_detached);
    pthread_attr_setdetachstate(&g_detached, PTHREAD_CREATE_DETACHED);
    sem_init(&g_ended, 0, 0);
}

static uint64_t repeat(void)
{
    struct timespec length = {.tv_sec = (time_t)g_seconds};
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < g_threads; i++)
        start_thread(&g_chain[i]);
    while (nanosleep(&length, &length) != 0)
        ;
    atomic_store(&g_over, true);
    for (uint64_t i = 0; i < g_threads; i++)
        while (sem_wait(&g_ended) != 0)
            ;
    uint64_t spent = now_ns() - start;
    g_operations = 0;
    for (uint64_t i = 0; i < g_threads; i++)
        g_operations += g_chain[i].operations;
    return spent;
}

static void finish(void)
{
    uint64_t started = 0;
    for (uint64_t i = 0; i < g_threads; i++)
        started += g_chain[i].threads_started;
    report("threads_started", (double)started);
}

static void preset_mid(void)
{
    g_min = 2048;
    g_max = 32768;
    g_chunks = 10000;
    g_threads = 2;
}

static void preset_single(void)
{
    g_max = 1024;
    g_chunks = 5000;
    g_threads = 1;
}

static const struct row g_rows[] = {
    {.name = "larson_tiny", .operation = "free a random block, malloc 8-128 B in its place, write; threads hand over",
     .threads = 4, .once = true, .setup = setup, .repeat = repeat, .finish = finish},
    {.name = "larson_mid", .operation = "free a random block, malloc 2-32 KiB in its place, write; threads hand over",
     .threads = 2, .once = true, .preset = preset_mid, .setup = setup, .repeat = repeat, .finish = finish},
    {.name = "larson_single", .operation = "as larson_tiny with 8-1,024 B, one thread at a time",
     .threads = 1, .once = true, .preset = preset_single, .setup = setup, .repeat = repeat, .finish = finish},
};

static const struct parameter g_parameters[] = {
    {"seconds", &g_seconds, 1, 86400},
    {"min", &g_min, LEAST_BYTES, MOST_BYTES},
    {"max", &g_max, LEAST_BYTES, MOST_BYTES},
    {"chunks", &g_chunks, 1, MOST_CHUNKS},
    {"rounds", &g_rounds, 1, 1u << 20},
    {"seed", &g_seed, 0, UINT64_MAX},
    {"threads", &g_threads, 1, MOST_CHAINS},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
