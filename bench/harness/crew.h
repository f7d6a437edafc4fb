/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* crew.h: worker threads that start together and do one job per repetition.
 *
 * what      crew_open(n, job) starts n workers, each on a separate core while there are cores; crew_repeat runs
 *           job(index) once on every worker and returns the nanoseconds from the first start to the last stop;
 *           crew_close ends the workers. A crew of two first measures the distance of the two cores [ns per hop of a
 *           cache line]: virtual machines move cores, and figures of two threads compare only where this distance
 *           agrees.
 * owner     The main thread, which sleeps while the workers run.
 * locks     A pthread barrier between the main thread and the workers, a spinning barrier between the workers.
 * orders    The spinning barrier releases the worker's earlier stores and acquires every worker's.
 * hot path  spin_once, where a job waits for a partner.
 * failure   As base.h.
 * not here  The jobs.
 */
#ifndef HAKMEM_BENCH_CREW_H
#define HAKMEM_BENCH_CREW_H

#include "harness.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MOST_WORKERS = 256, PATIENCE = 2000, HOPS = 2000 };

struct worker {
    _Alignas(64) pthread_t thread;
    uint64_t start, stop;
};

struct crew {
    void (*job)(unsigned index);
    unsigned count, cores;
    bool over;
    pthread_barrier_t gate; /* the main thread and all workers: opens and closes a repetition */
    _Alignas(64) atomic_uint met; /* the workers' own start line */
    struct worker worker[MOST_WORKERS];
};
static struct crew g_crew;

#if defined __x86_64__
static inline void spin_pause(void)
{
    __builtin_ia32_pause();
}
#else
static inline void spin_pause(void)
{
    __asm__ volatile("yield");
}
#endif

static inline void spin_once(unsigned *spins)
{
    if (++*spins < PATIENCE)
        spin_pause();
    else
        sched_yield();
}

static cpu_set_t usable_cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        die("bench: cannot read which cores may be used");
    return set;
}

/* Puts the calling thread on the index-th core it may use. */
static void pin(unsigned index)
{
    cpu_set_t may = usable_cores(), one;
    CPU_ZERO(&one);
    for (unsigned cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &may) && seen++ == index) {
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
    }
}

/* All workers leave together. With more workers than cores, waiting gives the core away at once. */
static void crew_meet(void)
{
    unsigned all = g_crew.count, ticket = atomic_fetch_add(&g_crew.met, 1);
    unsigned spins = all > g_crew.cores ? PATIENCE : 0;
    while (atomic_load_explicit(&g_crew.met, memory_order_acquire) < (ticket / all + 1) * all)
        spin_once(&spins);
}

static void *worker_main(void *argument)
{
    unsigned index = (unsigned)(uintptr_t)argument;
    struct worker *self = &g_crew.worker[index];
    if (g_crew.count <= g_crew.cores)
        pin(index);
    for (;;) {
        pthread_barrier_wait(&g_crew.gate);
        if (g_crew.over)
            return NULL;
        crew_meet();
        self->start = now_ns();
        g_crew.job(index);
        self->stop = now_ns();
        pthread_barrier_wait(&g_crew.gate);
    }
}

static void crew_open(unsigned count, void (*job)(unsigned index))
{
    cpu_set_t may = usable_cores();
    if (count == 0 || count > MOST_WORKERS)
        die("bench: between 1 and 256 threads, please");
    g_crew.job = job;
    g_crew.count = count;
    g_crew.cores = (unsigned)CPU_COUNT(&may);
    pthread_barrier_init(&g_crew.gate, NULL, count + 1);
    for (uintptr_t i = 0; i < count; i++)
        if (pthread_create(&g_crew.worker[i].thread, NULL, worker_main, (void *)i) != 0)
            die("bench: cannot start a thread");
}

/* Runs the job once on all workers: nanoseconds from the first start to the last stop. */
static uint64_t crew_run(void)
{
    uint64_t start = UINT64_MAX, stop = 0;
    pthread_barrier_wait(&g_crew.gate);
    pthread_barrier_wait(&g_crew.gate);
    for (const struct worker *w = g_crew.worker; w < g_crew.worker + g_crew.count; w++) {
        start = w->start < start ? w->start : start;
        stop = w->stop > stop ? w->stop : stop;
    }
    return stop - start;
}

/* ---- how far apart two cores are ---- */

static _Alignas(64) atomic_uint g_ball;

static void hop_job(unsigned side)
{
    for (unsigned i = 0; i < HOPS; i++) {
        unsigned spins = 0;
        while (atomic_load_explicit(&g_ball, memory_order_acquire) % 2 != side)
            spin_once(&spins);
        atomic_fetch_add(&g_ball, 1);
    }
}

static void crew_hop(void)
{
    void (*job)(unsigned) = g_crew.job;
    g_crew.job = hop_job;
    double hop = (double)crew_run() / (2 * HOPS);
    g_crew.job = job;
    if (g_hop_ns == 0 || hop < g_hop_ns)
        g_hop_ns = hop;
}

static uint64_t crew_repeat(void)
{
    if (g_crew.count == 2 && g_crew.cores >= 2)
        crew_hop();
    return crew_run();
}

static void crew_close(void)
{
    g_crew.over = true;
    pthread_barrier_wait(&g_crew.gate);
    for (unsigned i = 0; i < g_crew.count; i++)
        pthread_join(g_crew.worker[i].thread, NULL);
}

#endif
