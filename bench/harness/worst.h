/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* worst.h: the build of a benchmark program in which callgrind can show single calls of malloc and free.
 *
 * what      A program that is compiled with HAK_BENCH_WORST numbers its calls of malloc and free up to 32 KiB, from the
 *           very first. Under callgrind the program requests
 *
 *               HAK_BENCH_CHUNKS unset:   calls 0..127 -> dump "chunk 0"   calls 128..255 -> dump "chunk 1"   ...
 *               HAK_BENCH_CHUNKS=1,40:    nothing                           call 128 -> dump "malloc 128 BYTES"   ...
 *
 *           A dump holds the instructions of counted_malloc -> malloc and counted_free -> free, from entry to return;
 *           the reader ignores the rest of a dump. The end prints counted_calls=N.
 * owner     One thread: rows with more threads are not run in this build.
 * hot path  None: callgrind counts instructions, not time. Without valgrind the requests do nothing.
 * failure   None; a word in the list that is no chunk of this run dumps nothing.
 * not here  Choosing the chunks and finding the worst call: lab/hakmem_lab/bench/worst.py.
 */
#ifndef HAKMEM_BENCH_WORST_H
#define HAKMEM_BENCH_WORST_H

#include "base.h"
#include <malloc.h>
#include <valgrind/callgrind.h>

enum { CHUNK_CALLS = 128, MOST_COUNTED_BYTES = 32 << 10 };

static uint64_t g_calls;        /* that were counted so far */
static const char *g_chosen;    /* the chunks yet to come, in ascending order; NULL: all, each as a whole */
static bool g_alone;            /* the calls of the present chunk are dumped one by one */

/* By pointer, so that no stub of the linker stands between. */
static void *(*volatile g_malloc)(size_t) = malloc;
static void (*volatile g_free)(void *) = free;

/* The barrier prevents a tail jump: callgrind must see a call and its return, and collects inside this function
 * only. */
__attribute__((noinline)) static void *counted_malloc(size_t bytes)
{
    CALLGRIND_TOGGLE_COLLECT;
    void *block = g_malloc(bytes);
    CALLGRIND_TOGGLE_COLLECT;
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}

__attribute__((noinline)) static void counted_free(void *block)
{
    CALLGRIND_TOGGLE_COLLECT;
    g_free(block);
    CALLGRIND_TOGGLE_COLLECT;
    __asm__ volatile("" ::: "memory");
}

static bool is_next_chunk(void)
{
    return g_chosen != NULL && *g_chosen != '\0' && strtoull(g_chosen, NULL, 10) == g_calls / CHUNK_CALLS;
}

static void open_chunk(void)
{
    if (g_calls == 0)
        g_chosen = getenv("HAK_BENCH_CHUNKS");
    g_alone = is_next_chunk();
    if (!g_alone)
        return;
    const char *comma = strchr(g_chosen, ',');
    g_chosen = comma != NULL ? comma + 1 : "";
    CALLGRIND_ZERO_STATS;
}

static void before_call(void)
{
    if (g_calls % CHUNK_CALLS == 0)
        open_chunk();
}

static void dump_chunk(void)
{
    char title[64];
    snprintf(title, sizeof title, "chunk %llu", (unsigned long long)(g_calls - 1) / CHUNK_CALLS);
    CALLGRIND_DUMP_STATS_AT(title);
}

static void after_call(const char *call, size_t bytes)
{
    char title[64];
    uint64_t number = g_calls++;
    if (g_alone) {
        snprintf(title, sizeof title, "%s %llu %zu", call, (unsigned long long)number, bytes);
        CALLGRIND_DUMP_STATS_AT(title);
    } else if (g_chosen == NULL && g_calls % CHUNK_CALLS == 0) {
        dump_chunk();
    }
}

static inline void *watched_malloc(size_t bytes)
{
    if (bytes > MOST_COUNTED_BYTES)
        return malloc(bytes);
    before_call();
    void *block = counted_malloc(bytes);
    after_call("malloc", bytes);
    return block;
}

static inline void watched_free(void *block)
{
    size_t bytes = malloc_usable_size(block);
    if (bytes > MOST_COUNTED_BYTES) {
        free(block);
        return;
    }
    before_call();
    counted_free(block);
    after_call("free", bytes);
}

static inline void pass_start(void)
{
}

static inline void pass_print(void)
{
    if (g_chosen == NULL && g_calls % CHUNK_CALLS != 0)
        dump_chunk();
    printf("counted_calls=%llu\n", (unsigned long long)g_calls);
}

#define malloc(bytes) watched_malloc(bytes)
#define free(block) watched_free(block)

#endif
