/* duo.h: two worker threads, each on a core of its own, that start together.
 *
 * what      duo_open starts them, duo_repeat runs the job once on both sides, duo_close ends them. Before each
 *           repetition it measures how far apart the two cores are, in nanoseconds per hop of a cache line:
 *           virtual machines move their cores about, and figures of two threads compare only where this one agrees.
 * owner     The main thread; it sleeps while the workers run.
 * locks     A pthread barrier between the main thread and the workers, a spinning one between the workers.
 * orders    The spinning barrier releases what a worker wrote before it and acquires what the other wrote.
 * hot path  spin_once, where a job waits for the other side.
 * failure   As harness.h.
 * not here  The jobs: micro.c.
 */
#ifndef HAKMEM_BENCH_DUO_H
#define HAKMEM_BENCH_DUO_H

#include "harness.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static inline void spin_once(unsigned *spins)
{
    if (++*spins < 2000)
        __builtin_ia32_pause();
    else
        sched_yield();
}

struct duo {
    void (*job)(unsigned side);
    pthread_barrier_t gate; /* main and both workers: opens a repetition, and closes it */
    pthread_t thread[2];
    _Alignas(64) atomic_uint met; /* the workers' own start line */
    _Alignas(64) uint64_t start[2];
    _Alignas(64) uint64_t stop[2];
    bool over;
};
static struct duo g_duo;

/* Puts the calling thread on the index-th core it may use; with fewer cores the scheduler decides. */
static void pin(unsigned index)
{
    cpu_set_t may, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof may, &may) != 0)
        return;
    for (unsigned cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &may) && seen++ == index) {
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
    }
}

static void duo_meet(void)
{
    unsigned ticket = atomic_fetch_add(&g_duo.met, 1), spins = 0;
    while (atomic_load_explicit(&g_duo.met, memory_order_acquire) < (ticket | 1) + 1)
        spin_once(&spins);
}

static void *duo_worker(void *argument)
{
    unsigned side = (unsigned)(uintptr_t)argument;
    pin(side);
    for (;;) {
        pthread_barrier_wait(&g_duo.gate);
        if (g_duo.over)
            return NULL;
        duo_meet();
        g_duo.start[side] = now_ns();
        g_duo.job(side);
        g_duo.stop[side] = now_ns();
        pthread_barrier_wait(&g_duo.gate);
    }
}

static void duo_open(void (*job)(unsigned))
{
    g_duo.job = job;
    pthread_barrier_init(&g_duo.gate, NULL, 3);
    for (uintptr_t side = 0; side < 2; side++)
        if (pthread_create(&g_duo.thread[side], NULL, duo_worker, (void *)side) != 0)
            die("bench: cannot start a thread");
}

enum { HOPS = 2000 };
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

/* Runs the job once on both sides: nanoseconds from the first start to the last stop. */
static uint64_t duo_run(void)
{
    pthread_barrier_wait(&g_duo.gate);
    pthread_barrier_wait(&g_duo.gate);
    uint64_t start = g_duo.start[0] < g_duo.start[1] ? g_duo.start[0] : g_duo.start[1];
    uint64_t stop = g_duo.stop[0] > g_duo.stop[1] ? g_duo.stop[0] : g_duo.stop[1];
    return stop - start;
}

static double g_hop_ns; /* the shortest hop met so far */

static void duo_hop(void)
{
    void (*job)(unsigned) = g_duo.job;
    g_duo.job = hop_job;
    double hop = (double)duo_run() / (2 * HOPS);
    g_duo.job = job;
    if (g_hop_ns == 0 || hop < g_hop_ns)
        g_hop_ns = hop;
}

static uint64_t duo_repeat(void)
{
    duo_hop();
    return duo_run();
}

static void duo_close(void)
{
    g_duo.over = true;
    pthread_barrier_wait(&g_duo.gate);
    for (unsigned side = 0; side < 2; side++)
        pthread_join(g_duo.thread[side], NULL);
}

#endif
