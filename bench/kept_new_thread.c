/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kept_new_thread.c: cost of a call in a new thread, alone and beside many threads that wait.
 *
 * what      A new thread allocates, writes and frees again and again 100 blocks, last one first, of the size classes
 *           from 16 B to 32 KiB in turn. First the new thread is alone. Then `threads` threads churn: each allocates,
 *           writes and frees 64 blocks of every size class, four times, and waits. Then comes a second new thread.
 *
 *           alone_ns, beside_ns   per malloc and free, the median of the thread's 21 slices
 *           beside_ratio          the second / the first
 * owner     Each thread has separate blocks.
 * locks     A mutex: the threads churn in sequence, so that every run is alike.
 * orders    Joining, and the semaphore of idlers.h.
 * hot path  round_of_pairs; slices are of the thread's processor time.
 * failure   As base.h.
 * not here  Starting and ending threads: churn.c.
 */
#define _GNU_SOURCE
#include "harness/idlers.h"

enum {
    SLICES = 21,
    DEPTH = 100,
    ROUNDS = 1000,
    PAIRS = DEPTH * ROUNDS,
    SMALLEST = 16,
    LARGEST = 32 << 10,
    CHURNED = 64,
    CHURNS = 4,
    MOST_THREADS = 10000,
};

static uint64_t g_threads = 200;
static pthread_mutex_t g_one_churns = PTHREAD_MUTEX_INITIALIZER;
static uint32_t g_size[DEPTH];
static double g_slice_ns[SLICES], g_alone_ns, g_beside_ns;

/* As size classes lie: four to a doubling, never nearer than 16 bytes. */
static size_t size_after(size_t bytes)
{
    size_t quarter = ((size_t)1 << (63 - __builtin_clzll(bytes))) / 4;
    return bytes + (quarter > SMALLEST ? quarter : SMALLEST);
}

/* ---- the threads that wait ---- */

static void allocate_write_free(size_t bytes)
{
    void *block[CHURNED];
    for (unsigned i = 0; i < CHURNED; i++)
        touch(block[i] = must(malloc(bytes)), bytes);
    for (unsigned i = 0; i < CHURNED; i++)
        free(block[i]);
}

static void churn(void)
{
    pthread_mutex_lock(&g_one_churns);
    for (unsigned i = 0; i < CHURNS; i++)
        for (size_t bytes = SMALLEST; bytes <= LARGEST; bytes = size_after(bytes))
            allocate_write_free(bytes);
    pthread_mutex_unlock(&g_one_churns);
}

/* ---- the new thread ---- */

static void round_of_pairs(void)
{
    void *block[DEPTH];
    for (unsigned i = 0; i < DEPTH; i++)
        touch(block[i] = must(malloc(g_size[i])), i);
    for (unsigned i = DEPTH; i-- > 0;)
        free(block[i]);
}

static uint64_t own_time_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *new_thread(void *argument)
{
    for (unsigned slice = 0; slice < SLICES; slice++) {
        uint64_t start = own_time_ns();
        for (unsigned i = 0; i < ROUNDS; i++)
            round_of_pairs();
        g_slice_ns[slice] = (double)(own_time_ns() - start) / PAIRS;
    }
    return argument;
}

static double ns_in_new_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, new_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        die("bench: cannot start a thread");
    qsort(g_slice_ns, SLICES, sizeof *g_slice_ns, by_value);
    return g_slice_ns[SLICES / 2];
}

/* ---- the row ---- */

static void new_thread_setup(void)
{
    size_t bytes = SMALLEST;
    for (unsigned i = 0; i < DEPTH; i++) {
        g_size[i] = (uint32_t)bytes;
        bytes = bytes < LARGEST ? size_after(bytes) : SMALLEST;
    }
    g_alone_ns = ns_in_new_thread();
    idlers_start(g_threads, churn);
}

static uint64_t new_thread_repeat(void)
{
    g_beside_ns = ns_in_new_thread();
    g_operations = PAIRS;
    return (uint64_t)(g_beside_ns * PAIRS);
}

static void new_thread_finish(void)
{
    report("alone_ns", g_alone_ns);
    report("beside_ns", g_beside_ns);
    report("beside_ratio", g_beside_ns / g_alone_ns);
}

static const struct row g_rows[] = {
    {.name = "kept_new_thread", .threads = 201, .once = true,
     .operation = "malloc(16 B-32 KiB), write, free in a new thread, 100 blocks at a time; beside 200 that wait",
     .setup = new_thread_setup, .repeat = new_thread_repeat, .finish = new_thread_finish},
};

static const struct parameter g_parameters[] = {
    {"threads", &g_threads, 1, MOST_THREADS},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
