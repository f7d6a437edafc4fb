/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* zeroed.c: calloc.
 *
 * what      Rows of 64 B, 64 KiB, 1 MiB and 16 MiB. A round allocates some blocks with calloc, reads a word of each
 *           page (of 64 B the last word), writes the first word of each block and frees the blocks. Before each round
 *           blocks of the same size are allocated, filled with ones and freed, outside the time, so that memory must
 *           really be cleared or be new.
 * owner     The main thread.
 * hot path  The words are collected with a bitwise or and compared after the time is taken.
 * failure   die when a word was not zero.
 * not here  malloc of large blocks: scenarios.c.
 */
#define _GNU_SOURCE
#include "harness/harness.h"

enum { MOST_BLOCKS = 4096, WORD = 8 };

struct shape {
    size_t bytes;
    unsigned blocks, rounds;
};

static const struct shape SHAPE_64B = {64, 4096, 16};
static const struct shape SHAPE_64K = {64 << 10, 128, 2};
static const struct shape SHAPE_1M = {1 << 20, 16, 1};
static const struct shape SHAPE_16M = {16 << 20, 4, 1};

static const struct shape *g_shape;
static char *g_block[MOST_BLOCKS];

static void leave_dirty_memory(void)
{
    for (unsigned i = 0; i < g_shape->blocks; i++)
        memset(g_block[i] = must(malloc(g_shape->bytes)), 0xff, g_shape->bytes);
    for (unsigned i = 0; i < g_shape->blocks; i++)
        free(g_block[i]);
}

/* From the last word backwards, so that a block below a page has one word read too. */
static uint64_t read_pages(const char *block, size_t bytes)
{
    uint64_t seen = 0;
    for (size_t left = bytes; left > 0; left -= left < PAGE ? left : PAGE)
        seen |= *(const volatile uint64_t *)(block + left - WORD);
    return seen;
}

static uint64_t zeroed_round(void)
{
    size_t bytes = g_shape->bytes;
    unsigned blocks = g_shape->blocks;
    uint64_t seen = 0, start = now_ns();
    for (unsigned i = 0; i < blocks; i++) {
        char *block = g_block[i] = must(calloc(1, bytes));
        seen |= read_pages(block, bytes);
        touch(block, i);
    }
    for (unsigned i = 0; i < blocks; i++)
        free(g_block[i]);
    uint64_t spent = now_ns() - start;
    if (seen != 0)
        die("bench: calloc returned a block that is not zero");
    return spent;
}

static uint64_t zeroed_repeat(void)
{
    uint64_t spent = 0;
    for (unsigned round = 0; round < g_shape->rounds; round++) {
        leave_dirty_memory();
        spent += zeroed_round();
    }
    return spent;
}

static void zeroed_setup(const struct shape *shape)
{
    g_shape = shape;
    g_operations = (uint64_t)shape->blocks * shape->rounds;
}

static void setup_64b(void)
{
    zeroed_setup(&SHAPE_64B);
}

static void setup_64k(void)
{
    zeroed_setup(&SHAPE_64K);
}

static void setup_1m(void)
{
    zeroed_setup(&SHAPE_1M);
}

static void setup_16m(void)
{
    zeroed_setup(&SHAPE_16M);
}

static const struct row g_rows[] = {
    {.name = "zeroed_64b", .operation = "calloc(64), read the last word, write the first; free after 4,096 of them",
     .threads = 1, .setup = setup_64b, .repeat = zeroed_repeat},
    {.name = "zeroed_64k", .operation = "calloc of 64 KiB, a word of each page read; free after 128 of them",
     .threads = 1, .setup = setup_64k, .repeat = zeroed_repeat},
    {.name = "zeroed_1m", .operation = "calloc of 1 MiB, a word of each page read; free after 16 of them",
     .threads = 1, .setup = setup_1m, .repeat = zeroed_repeat},
    {.name = "zeroed_16m", .operation = "calloc of 16 MiB, a word of each page read; free after 4 of them",
     .threads = 1, .setup = setup_16m, .repeat = zeroed_repeat},
};

BENCH_PROGRAM(g_rows, NULL, 0)
