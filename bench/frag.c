/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* frag.c: how much memory stays resident after a program has freed most of its blocks.
 *
 * what      A server fills `mib` MiB with blocks of mixed sizes. Between these blocks the server allocates as many
 *           short-lived blocks. One kept block in ten lives long, in bursts and singly; the rest is freed in random
 *           order. Then a second load comes: half as many MiB, in sizes of a second draw.
 *
 *               fill -> rss_full | free 90 % -> rss_freed | wait -> rss_waited | malloc_trim -> rss_trimmed | continue
 *
 *           frag                 one thread, malloc_trim        frag_waited            one thread, two seconds of rest
 *           frag_idle_threads    the same beside 8 idle threads frag_waited_threads    the same beside 8 idle threads
 *
 *           Before the fill each of `idle_threads` threads works as a server's thread does: allocates, writes and frees
 *           64 blocks of every size of the draw, from 16 B to 1 MiB. Then the thread waits beside the main thread.
 *           While a single thread rests, only an allocator with a background thread can act.
 *
 *           live_kib   bytes asked for of the blocks alive after freeing     floor_kib  pages with a byte of live_kib
 *           live_full_kib, live_continued_kib   bytes asked for at the two peaks
 *           own_kib    this program's own arrays, which are resident all the time
 *           start_kib  resident before the first thread and the first block: own_kib, the program, the libraries
 *           rss_waited_kib   with wait=1: after two seconds without a call
 *           rss_trimmed_kib  with trim=1 (the default), if malloc's library has malloc_trim or a like function
 *           maps             mappings of the process at the end
 *           ns_continued     nanoseconds per block of the last phase
 * owner     The main thread. A block's first word is its size.
 * locks     Two barriers: an idle thread has done its work; all may end. The idle threads start in sequence, so
 *           that every run is alike.
 * orders    The barriers order everything.
 * hot path  Filling and freeing; sizes and kinds come from a table, the blocks are shuffled outside the time. All of
 *           a block's pages are written.
 * failure   die when a block that lives has lost its first word.
 * not here  Steady loads: soak.c.
 */
#define _GNU_SOURCE
#include "harness/harness.h"
#include "harness/page_set.h"
#include "harness/trim.h"
#include "harness/written.h"
#include "mixed_sizes.h"
#include <pthread.h>

enum {
    STEPS = 1 << 16,
    SOON = 1 << 10,     /* short-lived blocks, alive at once */
    BURST_EVERY = 1000, /* kept blocks; the first BURST of them live long */
    BURST = 50,
    SINGLE_LONG = 19, /* and one in SINGLE_LONG of the rest */
    WAIT_SECONDS = 2,
    IDLE_THREADS = 8,
    MOST_IDLE_THREADS = 1000,
    IDLE_BLOCKS = 64, /* per size, at once */
};

/* Pointers of one lifetime. */
struct blocks {
    void **at;
    size_t count, capacity;
};

struct step {
    uint32_t bytes, bytes_soon : 31, is_long : 1;
};

static uint64_t g_mib = 512, g_trim = 1, g_wait = 0, g_idle_threads = 0;
static pthread_t g_idle[MOST_IDLE_THREADS];
static pthread_barrier_t g_one_waits, g_all_end;
static struct step *g_step;
static struct blocks g_long, g_medium;
static void *g_soon[SOON];
static struct random g_random = {.state = 42};
static size_t g_live; /* bytes asked for, without the short-lived blocks */

static struct {
    size_t live_full, live, live_continued, floor;
    long start, full, freed, waited, trimmed, continued, maps;
    uint64_t continued_ns, continued_blocks;
} g_found;

/* ---- blocks ---- */

static size_t size_of(const void *block)
{
    size_t bytes = *(const volatile uint64_t *)block;
    if (bytes < 16 || bytes > 1 << 20)
        die("bench: a block has lost its first word");
    return bytes;
}

static void keep(struct blocks *blocks, size_t bytes)
{
    if (blocks->count == blocks->capacity)
        die("bench: frag has more blocks than it has room for");
    blocks->at[blocks->count++] = written_block(bytes);
    g_live += bytes;
}

/* ---- the idle threads ---- */

/* As common size classes: four to a doubling, at least 16 bytes apart. */
static size_t size_after(size_t bytes)
{
    size_t quarter = ((size_t)1 << (63 - __builtin_clzll(bytes))) / 4;
    return bytes + (quarter > SMALLEST_MIXED ? quarter : SMALLEST_MIXED);
}

static void allocate_write_free(size_t bytes)
{
    void *block[IDLE_BLOCKS];
    for (unsigned i = 0; i < IDLE_BLOCKS; i++)
        block[i] = written_block(bytes);
    for (unsigned i = 0; i < IDLE_BLOCKS; i++)
        free(block[i]);
}

static void *work_and_wait(void *argument)
{
    for (size_t bytes = SMALLEST_MIXED; bytes <= LARGEST_MIXED; bytes = size_after(bytes))
        allocate_write_free(bytes);
    pthread_barrier_wait(&g_one_waits);
    pthread_barrier_wait(&g_all_end);
    return argument;
}

static void start_idle_threads(void)
{
    pthread_barrier_init(&g_one_waits, NULL, 2);
    pthread_barrier_init(&g_all_end, NULL, (unsigned)g_idle_threads + 1);
    for (uint64_t i = 0; i < g_idle_threads; i++) {
        if (pthread_create(&g_idle[i], NULL, work_and_wait, NULL) != 0)
            die("bench: cannot start a thread");
        pthread_barrier_wait(&g_one_waits);
    }
}

static void end_idle_threads(void)
{
    pthread_barrier_wait(&g_all_end);
    for (uint64_t i = 0; i < g_idle_threads; i++)
        pthread_join(g_idle[i], NULL);
}

/* ---- the load ---- */

static void load_step(struct step step, size_t turn)
{
    keep(step.is_long ? &g_long : &g_medium, step.bytes);
    free(g_soon[turn % SOON]);
    g_soon[turn % SOON] = written_block(step.bytes_soon);
}

static uint64_t fill(size_t bytes, size_t *blocks)
{
    size_t turn = 0;
    uint64_t start = now_ns();
    while (g_live < bytes) {
        load_step(g_step[turn % STEPS], turn);
        turn++;
    }
    *blocks += 2 * turn;
    return now_ns() - start;
}

static void shuffle(const struct blocks *blocks)
{
    for (size_t i = blocks->count; i > 1; i--) {
        size_t j = random_below(&g_random, (uint32_t)i);
        void *other = blocks->at[i - 1];
        blocks->at[i - 1] = blocks->at[j];
        blocks->at[j] = other;
    }
}

/* Frees all blocks but the long-lived. */
static uint64_t free_most(void)
{
    shuffle(&g_medium);
    uint64_t start = now_ns();
    for (size_t i = 0; i < g_medium.count; i++)
        free(g_medium.at[i]);
    for (unsigned i = 0; i < SOON; i++) {
        free(g_soon[i]);
        g_soon[i] = NULL;
    }
    uint64_t spent = now_ns() - start;
    g_medium.count = 0;
    return spent;
}

/* ---- measured after the frees ---- */

static size_t live_bytes(void)
{
    size_t sum = 0;
    for (size_t i = 0; i < g_long.count; i++)
        sum += size_of(g_long.at[i]);
    return sum;
}

/* Number of pages that hold a byte of a live block. */
static size_t floor_pages(void)
{
    struct page_set set = page_set_open(g_live, g_long.count);
    for (size_t i = 0; i < g_long.count; i++)
        page_set_add(&set, g_long.at[i], size_of(g_long.at[i]));
    return page_set_close(&set);
}

static void look_after_frees(void)
{
    g_found.freed = resident_kib();
    if (g_wait != 0) {
        nanosleep(&(struct timespec){.tv_sec = WAIT_SECONDS}, NULL);
        g_found.waited = resident_kib();
    }
    if (g_trim != 0 && trim_all())
        g_found.trimmed = resident_kib();
    g_found.maps = mapping_count();
    g_live = g_found.live = live_bytes();
    g_found.floor = floor_pages() * PAGE;
}

/* ---- the row ---- */

static struct blocks room_for(size_t count)
{
    return (struct blocks){.at = pages(count * sizeof(void *)), .capacity = count};
}

static void draw_steps(void)
{
    for (unsigned i = 0; i < STEPS; i++) {
        bool is_long = i % BURST_EVERY < BURST || random_below(&g_random, SINGLE_LONG) == 0;
        g_step[i] = (struct step){.bytes = mixed_size(&g_random), .bytes_soon = mixed_size(&g_random) & 0x7fffffff,
                                  .is_long = is_long};
    }
}

static void frag_setup(void)
{
    size_t blocks = (g_mib << 20) / 900 + STEPS;
    g_step = pages(STEPS * sizeof *g_step);
    g_medium = room_for(blocks);
    g_long = room_for(blocks / 4);
    draw_steps();
    g_found.start = resident_kib();
    start_idle_threads();
}

static void go_on(void)
{
    draw_steps();
    g_found.continued_ns = fill(g_live + (g_mib << 19), &g_found.continued_blocks);
    g_found.continued = resident_kib();
    g_found.live_continued = g_live;
}

static uint64_t frag_repeat(void)
{
    uint64_t spent = fill(g_mib << 20, &g_operations);
    g_found.full = resident_kib();
    g_found.live_full = g_live;
    spent += free_most();
    look_after_frees();
    go_on();
    return spent;
}

static void report_kib(const char *name, size_t bytes)
{
    report(name, (double)(bytes >> 10));
}

static void frag_finish(void)
{
    report_kib("live_full_kib", g_found.live_full);
    report_kib("live_kib", g_found.live);
    report_kib("floor_kib", g_found.floor);
    report_kib("live_continued_kib", g_found.live_continued);
    report_kib("own_kib", (g_medium.capacity + g_long.capacity) * sizeof(void *) + STEPS * sizeof *g_step);
    report("start_kib", (double)g_found.start);
    report("rss_full_kib", (double)g_found.full);
    report("rss_freed_kib", (double)g_found.freed);
    if (g_found.waited > 0)
        report("rss_waited_kib", (double)g_found.waited);
    if (g_found.trimmed > 0)
        report("rss_trimmed_kib", (double)g_found.trimmed);
    report("rss_continued_kib", (double)g_found.continued);
    report("maps", (double)g_found.maps);
    report("ns_continued", (double)g_found.continued_ns / (double)g_found.continued_blocks);
    end_idle_threads();
}

static void frag_idle_threads_preset(void)
{
    g_idle_threads = IDLE_THREADS;
}

static void frag_waited_preset(void)
{
    g_trim = 0;
    g_wait = 1;
}

static void frag_waited_threads_preset(void)
{
    frag_idle_threads_preset();
    frag_waited_preset();
}

#define FRAG_ROW(word, thread_count, before)                                                                      \
    {.name = word, .operation = "a block of mixed sizes, allocated and written; most are freed, in random order", \
     .threads = thread_count, .once = true, .preset = before, .setup = frag_setup, .repeat = frag_repeat,         \
     .finish = frag_finish}

static const struct row g_rows[] = {
    FRAG_ROW("frag", 1, NULL),
    FRAG_ROW("frag_idle_threads", 1 + IDLE_THREADS, frag_idle_threads_preset),
    FRAG_ROW("frag_waited", 1, frag_waited_preset),
    FRAG_ROW("frag_waited_threads", 1 + IDLE_THREADS, frag_waited_threads_preset),
};

static const struct parameter g_parameters[] = {
    {"mib", &g_mib, 1, 1u << 15},
    {"trim", &g_trim, 0, 1},
    {"wait", &g_wait, 0, 1},
    {"idle_threads", &g_idle_threads, 0, MOST_IDLE_THREADS},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
