/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* churn.c: threads that start, allocate a few blocks, free the blocks and end.
 *
 * what      churn_1: the threads run in sequence; churn_2: two at a time, both joined before the next two start. Each
 *           thread allocates 300 blocks of 16-512 bytes, writes and frees the blocks in the order of allocation.
 * owner     Each thread keeps the pointers of its blocks on the thread's stack.
 * orders    pthread_create and pthread_join order everything.
 * hot path  Everything from before the first start to after the last join is inside the time: one operation is one
 *           life of a thread. Sizes come from a table.
 * failure   die.
 * not here  Threads that leave blocks behind: asymmetric.c. Threads that stay: idle.c.
 */
#define _GNU_SOURCE
#include "harness/harness.h"
#include <pthread.h>

enum { LIFE_BLOCKS = 300, MOST_AT_ONCE = 256 };

static uint64_t g_threads = 1, g_count = 6000;
static uint16_t *g_size;

static void *live(void *argument)
{
    void *block[LIFE_BLOCKS];
    for (unsigned i = 0; i < LIFE_BLOCKS; i++)
        touch(block[i] = must(malloc(g_size[i])), i);
    for (unsigned i = 0; i < LIFE_BLOCKS; i++)
        free(block[i]);
    return argument;
}

static void lives(unsigned count)
{
    pthread_t thread[MOST_AT_ONCE];
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&thread[i], NULL, live, NULL) != 0)
            die("bench: cannot start a thread");
    for (unsigned i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
}

static void churn_setup(void)
{
    struct random r = {.state = 42};
    g_size = pages(LIFE_BLOCKS * sizeof *g_size);
    for (unsigned i = 0; i < LIFE_BLOCKS; i++)
        g_size[i] = (uint16_t)random_between(&r, 16, 512);
}

static uint64_t churn_repeat(void)
{
    uint64_t rounds = (g_count + g_threads - 1) / g_threads;
    g_operations = rounds * g_threads;
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < rounds; i++)
        lives((unsigned)g_threads);
    return now_ns() - start;
}

static void two_at_a_time(void)
{
    g_threads = 2;
}

static const struct row g_rows[] = {
    {.name = "churn_1", .operation = "a thread: started, 300 x malloc 16-512 B and write, 300 x free, joined",
     .threads = 1, .once = true, .setup = churn_setup, .repeat = churn_repeat},
    {.name = "churn_2", .operation = "as churn_1, with two threads at a time", .threads = 2, .once = true,
     .preset = two_at_a_time, .setup = churn_setup, .repeat = churn_repeat},
};

static const struct parameter g_parameters[] = {
    {"threads", &g_threads, 1, MOST_AT_ONCE},
    {"count", &g_count, 1, 1u << 20},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
