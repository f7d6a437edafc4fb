/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* latency.h: the latency build of a benchmark program: reads the cycle counter around every call of malloc and free.
 *
 * what      A program that is compiled with HAK_BENCH_LATENCY calls these wrappers instead of malloc, calloc, realloc
 *           and free. Calls of the timed repetitions are counted in one histogram per thread and kind; the end prints
 *               cycles_per_ns=2.45   cycles_cost=44   latency_malloc=CYCLES:COUNT,...   latency_free=...
 *           The counter's cost is in every value.
 * owner     A thread's histograms are pages of the harness and live until the process ends; when the thread ends, the
 *           next new thread reuses the histograms.
 * locks     None: a list that only grows, and a flag in each member.
 * orders    Pushing and returning a histogram release; the printing thread has joined the counting threads, or met
 *           every thread at a barrier.
 * hot path  About 40 cycles more per call: this build's times are never reported as throughput.
 * failure   die.
 * not here  Throughput: the plain build of the same file reads no clock around calls.
 */
#ifndef HAKMEM_BENCH_LATENCY_H
#define HAKMEM_BENCH_LATENCY_H

#include "cycles.h"
#include "histogram.h"
#include <pthread.h>
#include <stdatomic.h>

struct latencies {
    struct histogram allocs, frees;
    atomic_bool in_use;
    struct latencies *next;
};

static struct latencies *_Atomic g_latencies;
static _Thread_local struct latencies *t_latencies;
static pthread_key_t g_at_thread_end;
static volatile bool g_recording;

static void give_back(void *own)
{
    t_latencies = NULL;
    atomic_store(&((struct latencies *)own)->in_use, false);
}

static struct latencies *new_latencies(void)
{
    struct latencies *own = pages(sizeof *own);
    atomic_init(&own->in_use, true);
    own->next = atomic_load(&g_latencies);
    while (!atomic_compare_exchange_weak(&g_latencies, &own->next, own))
        ;
    return own;
}

static struct latencies *left_latencies(void)
{
    struct latencies *one = atomic_load(&g_latencies);
    while (one != NULL && atomic_exchange(&one->in_use, true))
        one = one->next;
    return one;
}

static struct latencies *open_latencies(void)
{
    struct latencies *left = left_latencies();
    t_latencies = left != NULL ? left : new_latencies();
    pthread_setspecific(g_at_thread_end, t_latencies);
    return t_latencies;
}

static inline struct latencies *own_latencies(void)
{
    return t_latencies != NULL ? t_latencies : open_latencies();
}

static inline void record_alloc(uint64_t from, uint64_t to)
{
    if (g_recording)
        histogram_add(&own_latencies()->allocs, to - from);
}

static inline void record_free(uint64_t from, uint64_t to)
{
    if (g_recording)
        histogram_add(&own_latencies()->frees, to - from);
}

static inline void *timed_malloc(size_t bytes)
{
    uint64_t from = cycles_before();
    void *block = malloc(bytes);
    record_alloc(from, cycles_after());
    return block;
}

static inline void *timed_calloc(size_t count, size_t bytes)
{
    uint64_t from = cycles_before();
    void *block = calloc(count, bytes);
    record_alloc(from, cycles_after());
    return block;
}

static inline void *timed_realloc(void *old, size_t bytes)
{
    uint64_t from = cycles_before();
    void *block = realloc(old, bytes);
    record_alloc(from, cycles_after());
    return block;
}

static inline void timed_free(void *block)
{
    uint64_t from = cycles_before();
    free(block);
    record_free(from, cycles_after());
}

static inline void pass_start(void)
{
    if (pthread_key_create(&g_at_thread_end, give_back) != 0)
        die("bench: no key for the threads' histograms");
    g_recording = true;
}

static inline void pass_print(void)
{
    struct latencies *all = pages(sizeof *all);
    g_recording = false;
    for (const struct latencies *one = atomic_load(&g_latencies); one != NULL; one = one->next) {
        histogram_merge(&all->allocs, &one->allocs);
        histogram_merge(&all->frees, &one->frees);
    }
    printf("cycles_per_ns=%.6f\ncycles_cost=%llu\n", cycles_per_ns(), (unsigned long long)cycles_cost());
    histogram_print("latency_malloc", &all->allocs);
    histogram_print("latency_free", &all->frees);
}

#define malloc(bytes) timed_malloc(bytes)
#define calloc(count, bytes) timed_calloc(count, bytes)
#define realloc(old, bytes) timed_realloc(old, bytes)
#define free(block) timed_free(block)

#endif
