/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* asymmetric.c: blocks that outlive the thread that allocated them, or are freed by a thread that dies.
 *
 * what      asymmetric_handover: a thread allocates a heap and dies; the main thread frees that heap three threads
 *           later. asymmetric_longlived: the main thread allocates, a second thread frees all blocks and dies.
 *
 *               handover    thread 7 allocates, ends | main frees what thread 4 left | thread 8 allocates, ends | ...
 *               longlived   main allocates | thread 7 frees, ends | main allocates | thread 8 frees, ends | ...
 *
 * owner     The main thread owns the tables of blocks; a short-lived thread has one table while running.
 * orders    pthread_create and pthread_join order everything.
 * hot path  Starting and joining a thread is inside the time, once per 16,384 blocks. Sizes come from a table, and
 *           blocks are freed in a different order than allocated.
 * failure   die.
 * not here  Threads that free their own blocks: churn.c.
 */
#define _GNU_SOURCE
#include "harness/harness.h"
#include <pthread.h>

enum {
    HEAP_BLOCKS = 1 << 14,
    HEAPS = 4,   /* kept alive by the handover */
    STRIDE = 77, /* odd, so that the walk visits every block */
    LIVES = 4,   /* threads per repetition */
};

static void **g_heap[HEAPS];
static uint16_t *g_size; /* 16-512 bytes */
static unsigned g_turn;

static void *allocate_heap(void *heap)
{
    void **block = heap;
    for (unsigned i = 0; i < HEAP_BLOCKS; i++)
        touch(block[i] = must(malloc(g_size[i])), i);
    return NULL;
}

static void *free_heap(void *heap)
{
    void **block = heap;
    for (unsigned i = 0; i < HEAP_BLOCKS; i++)
        free(block[i * STRIDE % HEAP_BLOCKS]);
    return NULL;
}

static void in_a_thread(void *(*work)(void *), void *heap)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, heap) != 0)
        die("bench: cannot start a thread");
    pthread_join(thread, NULL);
}

static void asymmetric_setup(void)
{
    struct random r = {.state = 42};
    g_size = pages(HEAP_BLOCKS * sizeof *g_size);
    for (unsigned i = 0; i < HEAP_BLOCKS; i++)
        g_size[i] = (uint16_t)random_between(&r, 16, 512);
    for (unsigned i = 0; i < HEAPS; i++)
        g_heap[i] = pages(HEAP_BLOCKS * sizeof *g_heap[i]);
}

static void handover_setup(void)
{
    asymmetric_setup();
    for (unsigned i = 0; i < HEAPS - 1; i++)
        in_a_thread(allocate_heap, g_heap[i]);
    g_turn = HEAPS - 1;
}

static uint64_t handover_repeat(void)
{
    uint64_t start = now_ns();
    for (unsigned life = 0; life < LIVES; life++, g_turn++) {
        in_a_thread(allocate_heap, g_heap[g_turn % HEAPS]);
        free_heap(g_heap[(g_turn + 1) % HEAPS]);
    }
    return now_ns() - start;
}

static uint64_t longlived_repeat(void)
{
    uint64_t start = now_ns();
    for (unsigned life = 0; life < LIVES; life++) {
        allocate_heap(g_heap[0]);
        in_a_thread(free_heap, g_heap[0]);
    }
    return now_ns() - start;
}

static const struct row g_rows[] = {
    {.name = "asymmetric_handover",
     .operation = "16-512 B: allocated by a thread that ends, later freed by the main thread",
     .operations = LIVES * HEAP_BLOCKS, .threads = 1, .setup = handover_setup, .repeat = handover_repeat},
    {.name = "asymmetric_longlived",
     .operation = "16-512 B: allocated by the main thread, freed by a thread that ends",
     .operations = LIVES * HEAP_BLOCKS, .threads = 1, .setup = asymmetric_setup, .repeat = longlived_repeat},
};

BENCH_PROGRAM(g_rows, NULL, 0)
