/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* micro.c: small allocation patterns, most of them in one thread.
 *
 * what      A few blocks at a time (pair, lifo_100, fifo_100), random replacement in heaps from 400 blocks to 1 Mi,
 *           a million blocks allocated and then freed, and two threads that share nothing.
 * owner     A row per process, so that every row starts with a fresh heap.
 * hot path  Slots, sizes and orders come from tables made before, from one seed, the same for every allocator.
 * failure   As the harness.
 * not here  Blocks that change threads: prodcons.c; false sharing: sharing.c.
 */
#define _GNU_SOURCE
#include "harness/crew.h"
#include "harness/replace.h"

enum { DEPTH = 100, BULK = 1 << 20, BLOCK_BYTES = 64 };

static struct random g_random = {42};

/* ---- a few blocks at a time ---- */

static uint64_t pair_repeat(void)
{
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < g_row->operations; i++) {
        void *p = must(malloc(16));
        touch(p, i);
        free(p);
    }
    return now_ns() - start;
}

static void stack_fill(void **stack)
{
    for (unsigned i = 0; i < DEPTH; i++)
        touch(stack[i] = must(malloc(BLOCK_BYTES)), i);
}

static uint64_t lifo_repeat(void)
{
    void *stack[DEPTH];
    uint64_t start = now_ns();
    for (uint64_t done = 0; done < g_row->operations; done += DEPTH) {
        stack_fill(stack);
        for (unsigned i = DEPTH; i-- > 0;)
            free(stack[i]);
    }
    return now_ns() - start;
}

static uint64_t fifo_repeat(void)
{
    void *queue[DEPTH];
    uint64_t start = now_ns();
    for (uint64_t done = 0; done < g_row->operations; done += DEPTH) {
        stack_fill(queue);
        for (unsigned i = 0; i < DEPTH; i++)
            free(queue[i]);
    }
    return now_ns() - start;
}

/* ---- random replacement ---- */

static const struct replace SHAPE_400 = {.slots = 400, .low = 8, .high = 128, .steps = 1 << 16};
static const struct replace SHAPE_8K = {.slots = 8192, .low = 16, .high = 1024, .steps = 1 << 16};
static const struct replace SHAPE_1M = {.slots = 1 << 20, .low = 16, .high = 256, .steps = 1 << 21};
static const struct replace SHAPE_MID = {.slots = 256, .low = 2048, .high = 30720, .steps = 1 << 16};
static struct replace g_replace;

static void replace_400_setup(void)
{
    g_replace = SHAPE_400;
    replace_start(&g_replace, &g_random);
}

static void replace_8k_setup(void)
{
    g_replace = SHAPE_8K;
    replace_start(&g_replace, &g_random);
}

static void replace_1m_setup(void)
{
    g_replace = SHAPE_1M;
    replace_start(&g_replace, &g_random);
}

static void replace_mid_setup(void)
{
    g_replace = SHAPE_MID;
    replace_start(&g_replace, &g_random);
}

static uint64_t replace_repeat(void)
{
    uint64_t start = now_ns();
    replace_run(&g_replace, (uint32_t)g_row->operations);
    return now_ns() - start;
}

/* ---- 1 Mi blocks: all allocated, then all freed ---- */

static void **g_bulk;     /* in the order of allocation */
static void **g_shuffled; /* the same blocks in the order of freeing */
static uint32_t *g_order;

static void bulk_setup(void)
{
    g_bulk = pages(BULK * sizeof *g_bulk);
}

static void bulk_random_setup(void)
{
    bulk_setup();
    g_shuffled = pages(BULK * sizeof *g_shuffled);
    g_order = pages(BULK * sizeof *g_order);
    random_order(&g_random, g_order, BULK);
}

static uint64_t bulk_alloc(void)
{
    uint64_t start = now_ns();
    for (uint32_t i = 0; i < BULK; i++)
        touch(g_bulk[i] = must(malloc(BLOCK_BYTES)), i);
    return now_ns() - start;
}

static uint64_t bulk_free(void **block)
{
    uint64_t start = now_ns();
    for (uint32_t i = 0; i < BULK; i++)
        free(block[i]);
    return now_ns() - start;
}

static uint64_t bulk_order_repeat(void)
{
    uint64_t spent = bulk_alloc();
    return spent + bulk_free(g_bulk);
}

/* The pointers are shuffled between the two timed halves, so that the free loop reads the array in sequence. */
static uint64_t bulk_random_repeat(void)
{
    uint64_t spent = bulk_alloc();
    for (uint32_t i = 0; i < BULK; i++)
        g_shuffled[i] = g_bulk[g_order[i]];
    return spent + bulk_free(g_shuffled);
}

/* ---- two threads that share nothing ---- */

static struct replace g_own[2];

static void two_job(unsigned side)
{
    if (g_own[side].slot[0] == NULL)
        replace_fill(&g_own[side]);
    replace_run(&g_own[side], (uint32_t)g_row->operations);
}

static void two_setup(void)
{
    for (unsigned side = 0; side < 2; side++) {
        g_own[side] = SHAPE_400;
        replace_prepare(&g_own[side], &g_random);
    }
    g_operations = g_row->operations * 2;
    crew_open(2, two_job);
}

static const struct row g_rows[] = {
    {.name = "pair", .operation = "malloc(16), write, free", .operations = 200000, .threads = 1,
     .repeat = pair_repeat},
    {.name = "lifo_100", .operation = "one of 100 blocks of 64 B: allocated, written, freed last one first",
     .operations = 200000, .threads = 1, .repeat = lifo_repeat},
    {.name = "fifo_100", .operation = "one of 100 blocks of 64 B: allocated, written, freed first one first",
     .operations = 200000, .threads = 1, .repeat = fifo_repeat},
    {.name = "replace_400", .operation = "free a random slot of 400, malloc 8-128 B, write",
     .operations = 200000, .threads = 1, .setup = replace_400_setup, .repeat = replace_repeat},
    {.name = "replace_8k", .operation = "free a random slot of 8,192, malloc 16-1,024 B, write",
     .operations = 200000, .threads = 1, .setup = replace_8k_setup, .repeat = replace_repeat},
    {.name = "replace_1m", .operation = "free a random slot of 1 Mi, malloc 16-256 B, write",
     .operations = 1 << 18, .threads = 1, .setup = replace_1m_setup, .repeat = replace_repeat},
    {.name = "bulk_order", .operation = "one of 1 Mi blocks of 64 B: allocated, written, freed in the same order",
     .operations = BULK, .threads = 1, .setup = bulk_setup, .repeat = bulk_order_repeat},
    {.name = "bulk_random", .operation = "one of 1 Mi blocks of 64 B: allocated, written, freed in random order",
     .operations = BULK, .threads = 1, .setup = bulk_random_setup, .repeat = bulk_random_repeat},
    {.name = "replace_mid", .operation = "free a random slot of 256, malloc 2-30 KiB, write",
     .operations = 100000, .threads = 1, .setup = replace_mid_setup, .repeat = replace_repeat},
    {.name = "two_threads", .operation = "as replace_400, in each of two threads at once",
     .operations = 200000, .threads = 2, .setup = two_setup, .repeat = crew_repeat, .finish = crew_close},
};

BENCH_PROGRAM(g_rows, NULL, 0)
