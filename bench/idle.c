/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* idle.c: cost of many threads that have allocated a few blocks and then wait.
 *
 * what      Starts `threads` threads with stacks of 256 KiB. Each allocates, writes and frees one block of every size
 *           from 16 to 1,024 bytes in steps of 16, and waits. When all wait the resident set is read; printed as
 *           rss_kib and rss_idle_kib; idle_kib_per_thread is the growth since before the first thread, per thread.
 *           maps_before and maps are the mappings of the process before the first thread and when all wait.
 * owner     The main thread.
 * locks     Two barriers: all have allocated; all may end.
 * orders    The barriers order everything.
 * hot path  From before the first start until all wait; an operation is a thread.
 * failure   die.
 * not here  Threads that end: churn.c.
 */
#define _GNU_SOURCE
#include "harness/harness.h"
#include <pthread.h>

enum { STACK_BYTES = 256 << 10, SMALLEST = 16, LARGEST = 1024, STEP = 16, MOST_THREADS = 10000 };

static uint64_t g_threads = 1000;
static pthread_t *g_thread;
static pthread_barrier_t g_all_wait, g_all_end;
static pthread_attr_t g_attributes;
static long g_before_kib, g_idle_kib, g_maps_before, g_maps;

static void *allocate_and_wait(void *argument)
{
    for (size_t bytes = SMALLEST; bytes <= LARGEST; bytes += STEP) {
        void *block = must(malloc(bytes));
        touch(block, bytes);
        free(block);
    }
    pthread_barrier_wait(&g_all_wait);
    pthread_barrier_wait(&g_all_end);
    return argument;
}

static void idle_setup(void)
{
    g_operations = g_threads;
    g_thread = pages(g_threads * sizeof *g_thread);
    pthread_barrier_init(&g_all_wait, NULL, (unsigned)g_threads + 1);
    pthread_barrier_init(&g_all_end, NULL, (unsigned)g_threads + 1);
    pthread_attr_init(&g_attributes);
    pthread_attr_setstacksize(&g_attributes, STACK_BYTES);
    g_before_kib = resident_kib();
    g_maps_before = mapping_count();
}

static uint64_t idle_repeat(void)
{
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < g_threads; i++)
        if (pthread_create(&g_thread[i], &g_attributes, allocate_and_wait, NULL) != 0)
            die("bench: cannot start a thread");
    pthread_barrier_wait(&g_all_wait);
    uint64_t spent = now_ns() - start;
    g_idle_kib = resident_kib();
    g_maps = mapping_count();
    return spent;
}

static void idle_finish(void)
{
    report("rss_idle_kib", (double)g_idle_kib);
    report("idle_kib_per_thread", (double)(g_idle_kib - g_before_kib) / (double)g_threads);
    report("maps_before", (double)g_maps_before);
    report("maps", (double)g_maps);
    pthread_barrier_wait(&g_all_end);
    for (uint64_t i = 0; i < g_threads; i++)
        pthread_join(g_thread[i], NULL);
}

static const struct row g_rows[] = {
    {.name = "idle", .operation = "a thread: started, 64 x malloc, write, free of 16-1,024 B, then waiting",
     .threads = 1000, .once = true, .setup = idle_setup, .repeat = idle_repeat, .finish = idle_finish},
};

static const struct parameter g_parameters[] = {
    {"threads", &g_threads, 1, MOST_THREADS},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
