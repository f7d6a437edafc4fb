/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kept_idle_threads.c: release of memory freed by threads that now wait.
 *
 * what      `threads` threads: each allocates 3.9 MiB of 64 B blocks; then each thread frees its blocks, every 64th
 *           block last, and waits. The last thousand blocks, in the thread's cache, lie on as many pages:
 *
 *               page   |.......#.......|.......#.......|.......#.......| ...      . freed first    # freed last
 *
 *           kept_idle_threads          then malloc_trim, or the like function of malloc's library
 *           kept_idle_threads_waited   nothing is called for four seconds instead
 *
 *           rss_freed_kib     resident when all threads wait
 *           rss_trimmed_kib   after the trim, where the library has one        rss_waited_kib   after the four seconds
 *           start_kib         resident before the first thread
 *           most_live_kib     peak of the bytes asked for
 * owner     Each thread has separate blocks; a block holds the address of the next block.
 * locks     A barrier between allocating and freeing.
 * orders    The barrier, and the semaphore of idlers.h.
 * hot path  From before the first start until all wait; an operation is a thread.
 * failure   As base.h.
 * not here  Threads that hold next to nothing: idle.c. The main thread's heap beside idle threads: frag.c.
 */
#define _GNU_SOURCE
#include "harness/idlers.h"
#include "harness/trim.h"

enum { BYTES = 64, COUNT = 63898, LAST = 64, WAIT_SECONDS = 4, MOST_THREADS = 1000 };

struct block {
    struct block *next;
    char rest[BYTES - sizeof(struct block *)];
};

static uint64_t g_threads = 64, g_trim = 1;
static pthread_barrier_t g_all_allocated;
static long g_start, g_freed, g_trimmed, g_waited;

static void free_list(struct block *block)
{
    while (block != NULL) {
        struct block *next = block->next;
        free(block);
        block = next;
    }
}

static void allocate_and_free(void)
{
    struct block *first = NULL, *last = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        struct block **list = i % LAST != 0 ? &first : &last, *block = must(malloc(sizeof *block));
        block->next = *list;
        *list = block;
    }
    pthread_barrier_wait(&g_all_allocated);
    free_list(first);
    free_list(last);
}

static void threads_setup(void)
{
    g_operations = g_threads;
    pthread_barrier_init(&g_all_allocated, NULL, (unsigned)g_threads);
    g_start = resident_kib();
}

static uint64_t threads_repeat(void)
{
    uint64_t start = now_ns();
    idlers_start(g_threads, allocate_and_free);
    uint64_t spent = now_ns() - start;
    g_freed = resident_kib();
    if (g_trim == 0)
        nanosleep(&(struct timespec){.tv_sec = WAIT_SECONDS}, NULL);
    if (g_trim == 0)
        g_waited = resident_kib();
    else if (trim_all())
        g_trimmed = resident_kib();
    return spent;
}

static void threads_finish(void)
{
    report("rss_freed_kib", (double)g_freed);
    if (g_trimmed > 0)
        report("rss_trimmed_kib", (double)g_trimmed);
    if (g_waited > 0)
        report("rss_waited_kib", (double)g_waited);
    report("most_live_kib", (double)(g_threads * COUNT * BYTES) / 1024);
    report("start_kib", (double)g_start);
}

static void waited_preset(void)
{
    g_trim = 0;
}

#define OPERATION "a thread: started, 3.9 MiB of 64 B blocks allocated, all freed; then it waits"
static const struct row g_rows[] = {
    {.name = "kept_idle_threads", .operation = OPERATION, .threads = 64, .once = true, .setup = threads_setup,
     .repeat = threads_repeat, .finish = threads_finish},
    {.name = "kept_idle_threads_waited", .operation = OPERATION, .threads = 64, .once = true, .preset = waited_preset,
     .setup = threads_setup, .repeat = threads_repeat, .finish = threads_finish},
};

static const struct parameter g_parameters[] = {
    {"threads", &g_threads, 1, MOST_THREADS},
    {"trim", &g_trim, 0, 1},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
