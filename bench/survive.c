/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* survive.c: peak memory of a program that frees before allocating again, in changing sizes.
 *
 * what      Twelve rounds. In each, lists of equal blocks are allocated until `mib` MiB are live, all bytes written;
 *           each round draws sizes from a different range between 16 B and 1 MiB. Then all lists but one in twenty are
 *           checked and freed, in random order, and the next round fills up to the same sum again:
 *
 *               live   |########| #        |########| #        |########| ...   180 MiB, 9 MiB, 180 MiB, 9 MiB ...
 *                       16 B-1 KiB          .25-1 MiB           128 B-2 KiB
 *
 *           A list has at least 4 KiB, so that surviving lists lie on few pages under an allocator that puts equal
 *           blocks, allocated in sequence, side by side.
 *
 *           need_kib   peak of the survivors' pages plus the bytes allocated since; not counted with need=0:
 *                      counting takes memory for a moment when little is live
 *           live_kib   peak of the bytes asked for             own_kib   this program's arrays
 *
 *           The figure to compare is the peak of the resident set; `hakmem-lab bench --passes limit` (and
 *           tests/process) runs the program in a control group of 256 MiB. survive_4 shares the sum among four threads,
 *           each with a different range than its neighbours.
 * owner     Each thread has separate lists. A block holds its successor, its size and a mark that fills the rest.
 * locks     A barrier between the halves of a round: all threads free, then all fill.
 * orders    The barrier and joining order everything.
 * hot path  Filling and freeing; the time covers all rounds.
 * failure   die when a block has changed.
 * not here  The share of a heap that is released: frag.c.
 */
#define _GNU_SOURCE
#include "harness/harness.h"
#include "harness/page_set.h"
#include <pthread.h>

enum {
    LIST_BYTES = 4096, /* minimum */
    SURVIVES = 20,     /* one list of SURVIVES survives */
    MOST_THREADS = 64,
    STACK_BYTES = 256 << 10,
};

struct block {
    struct block *next;
    uint32_t bytes, mark;
    unsigned char rest[];
};

/* Sizes from `least` to `least` << `doublings`; each doubling is as likely. */
struct range {
    uint32_t least, doublings;
};

static const struct range g_range[] = {
    {16, 6}, {256 << 10, 2}, {128, 4}, {8 << 10, 3},  {32, 3}, {64 << 10, 3},
    {1 << 10, 3}, {16, 16},  {4 << 10, 3}, {64, 1}, {32 << 10, 3}, {16, 3},
};
enum { ROUNDS = BENCH_COUNT(g_range) };

struct worker {
    _Alignas(64) pthread_t thread;
    unsigned index;
    struct random random;
    struct block **list;
    uint32_t count, capacity;
    size_t live, blocks, need[ROUNDS];
};

static uint64_t g_mib = 180, g_threads = 1, g_need = 1;
static struct worker g_worker[MOST_THREADS];
static pthread_barrier_t g_half;

/* ---- blocks and lists ---- */

static struct block *new_block(struct worker *w, uint32_t bytes, struct block *next)
{
    struct block *block = must(malloc(bytes));
    *block = (struct block){next, bytes, (uint32_t)random_next(&w->random)};
    memset(block->rest, (int)(block->mark & 0xff), bytes - sizeof *block);
    w->live += bytes;
    w->blocks++;
    return block;
}

static void check_block(const struct block *block)
{
    size_t rest = block->bytes - sizeof *block;
    if (rest == 0)
        return;
    if (block->rest[0] != (block->mark & 0xff) || memcmp(block->rest, block->rest + 1, rest - 1) != 0)
        die("bench: a block does not hold what was written");
}

static void free_list(struct worker *w, struct block *block)
{
    while (block != NULL) {
        struct block *next = block->next;
        check_block(block);
        w->live -= block->bytes;
        free(block);
        block = next;
    }
}

static uint32_t size_in(struct random *random, const struct range *range)
{
    uint32_t least = range->least << random_below(random, range->doublings);
    return random_between(random, least, 2 * least);
}

static struct block *new_list(struct worker *w, const struct range *range)
{
    uint32_t bytes = size_in(&w->random, range);
    struct block *list = NULL;
    for (uint32_t sum = 0; sum < LIST_BYTES; sum += bytes)
        list = new_block(w, bytes, list);
    return list;
}

/* ---- the halves of a round ---- */

static void fill(struct worker *w, const struct range *range)
{
    while (w->live < (g_mib << 20) / g_threads) {
        if (w->count == w->capacity)
            die("bench: survive has more lists than it has room for");
        w->list[w->count++] = new_list(w, range);
    }
}

static void shuffle(struct worker *w)
{
    for (uint32_t i = w->count; i > 1; i--) {
        uint32_t j = random_below(&w->random, i);
        struct block *other = w->list[i - 1];
        w->list[i - 1] = w->list[j];
        w->list[j] = other;
    }
}

/* Frees all lists but one of `survives`, or all. */
static void free_most(struct worker *w, uint32_t survives)
{
    shuffle(w);
    uint32_t kept = survives == 0 ? 0 : w->count / survives, count = w->count;
    w->count = kept;
    for (uint32_t i = kept; i < count; i++)
        free_list(w, w->list[i]);
}

/* Returns the bytes of the survivors' pages plus the bytes to be allocated beside the survivors. */
static size_t bytes_needed(const struct worker *w)
{
    struct page_set set = page_set_open(w->live, w->live / sizeof(struct block));
    for (uint32_t i = 0; i < w->count; i++)
        for (const struct block *block = w->list[i]; block != NULL; block = block->next)
            page_set_add(&set, block, block->bytes);
    return page_set_close(&set) * PAGE + (g_mib << 20) / g_threads - w->live;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    for (unsigned round = 0; round < ROUNDS; round++) {
        fill(w, &g_range[(round + w->index) % ROUNDS]);
        pthread_barrier_wait(&g_half);
        free_most(w, SURVIVES);
        w->need[round] = g_need != 0 ? bytes_needed(w) : 0;
        pthread_barrier_wait(&g_half);
    }
    free_most(w, 0);
    return NULL;
}

/* ---- the rows ---- */

static void survive_setup(void)
{
    uint32_t capacity = (uint32_t)((g_mib << 20) / g_threads / LIST_BYTES) + ROUNDS;
    for (unsigned i = 0; i < g_threads; i++)
        g_worker[i] = (struct worker){.index = i, .random = {42 + i}, .capacity = capacity,
                                      .list = pages(capacity * sizeof(struct block *))};
    pthread_barrier_init(&g_half, NULL, (unsigned)g_threads);
}

static void work_in_threads(void)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (unsigned i = 0; i < g_threads; i++)
        if (pthread_create(&g_worker[i].thread, &attributes, work, &g_worker[i]) != 0)
            die("bench: cannot start a thread");
    for (unsigned i = 0; i < g_threads; i++)
        pthread_join(g_worker[i].thread, NULL);
}

static uint64_t survive_repeat(void)
{
    uint64_t start = now_ns();
    if (g_threads == 1)
        work(&g_worker[0]);
    else
        work_in_threads();
    uint64_t spent = now_ns() - start;
    g_operations = 0;
    for (unsigned i = 0; i < g_threads; i++)
        g_operations += g_worker[i].blocks;
    return spent;
}

static size_t most_needed(void)
{
    size_t most = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t sum = 0;
        for (unsigned i = 0; i < g_threads; i++)
            sum += g_worker[i].need[round];
        most = sum > most ? sum : most;
    }
    return most;
}

static void survive_finish(void)
{
    if (g_need != 0)
        report("need_kib", (double)(most_needed() >> 10));
    report("live_kib", (double)(g_mib << 10));
    report("own_kib", (double)(g_threads * g_worker[0].capacity * sizeof(struct block *) >> 10));
}

static void four_preset(void)
{
    g_threads = 4;
}

#define OPERATION "a block of 16 B-1 MiB: malloc, all bytes written, checked, free; in rounds of other sizes each"
static const struct row g_rows[] = {
    {.name = "survive_1", .operation = OPERATION, .threads = 1, .once = true, .setup = survive_setup,
     .repeat = survive_repeat, .finish = survive_finish},
    {.name = "survive_4", .operation = OPERATION, .threads = 4, .once = true, .preset = four_preset,
     .setup = survive_setup, .repeat = survive_repeat, .finish = survive_finish},
};

static const struct parameter g_parameters[] = {
    {"mib", &g_mib, 1, 1 << 15},
    {"threads", &g_threads, 1, MOST_THREADS},
    {"need", &g_need, 0, 1},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
