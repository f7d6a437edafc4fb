/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* idlers.h: threads that work for a while and then wait, as threads of a pool do.
 *
 * what      idlers_start(n, life) starts n threads; each calls life() and waits until the process ends. Returns when
 *           all n threads wait.
 * owner     The threads are never joined.
 * locks     A semaphore.
 * orders    The semaphore: the starting thread sees every store of life().
 * failure   As base.h.
 * not here  Threads that work all the time: crew.h.
 */
#ifndef HAKMEM_BENCH_IDLERS_H
#define HAKMEM_BENCH_IDLERS_H

#include "harness.h"
#include <pthread.h>
#include <semaphore.h>

enum { IDLER_STACK_BYTES = 256 << 10 };

static sem_t g_idler_waits;

static void *idler_main(void *life)
{
    void (*lead)(void);
    *(void **)&lead = life;
    lead();
    sem_post(&g_idler_waits);
    while (pause() != 0) /* pause never returns 0 */
        ;
    return NULL;
}

static void idlers_start(uint64_t count, void (*life)(void))
{
    pthread_t thread;
    pthread_attr_t attributes;
    sem_init(&g_idler_waits, 0, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, IDLER_STACK_BYTES);
    for (uint64_t i = 0; i < count; i++)
        if (pthread_create(&thread, &attributes, idler_main, *(void **)&life) != 0)
            die("bench: cannot start a thread");
    for (uint64_t i = 0; i < count; i++)
        while (sem_wait(&g_idler_waits) != 0)
            ;
}

/* A life with one block. */
static inline void allocate_once(void)
{
    void *block = must(malloc(64));
    touch(block, 64);
    free(block);
}

#endif
