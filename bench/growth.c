/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* growth.c: blocks that realloc makes larger, step by step.
 *
 * what      growth_vector: 16 B to 64 MiB by factors of 1.5, every new page written. growth_append: 64 KiB at a time up
 *           to 256 MiB, every new page written. growth_giant: 16 B to 1 GiB by doubling; only the last page of each
 *           size is written, as writing all of 1 GiB would time the kernel. growth_many: 1,000 vectors grow in random
 *           turns from 16 B to 12 KiB by factors of 1.5.
 * owner     The main thread. Every block has a stamp in the last word of each size that the block went through.
 * hot path  Sizes and turns come from tables. An operation is a realloc; the free at the end counts in.
 * failure   die when a stamp has changed: realloc lost contents of the block. The stamps are compared between the two
 *           timed parts.
 * not here  realloc that shrinks.
 */
#define _GNU_SOURCE
#include "harness/harness.h"

enum { MOST_STEPS = 1 << 14, VECTORS = 1000, WORD = 8 };

static size_t *g_size; /* of each step; the first is malloc's */
static unsigned g_steps;
static char *g_vector[VECTORS];
static uint8_t g_done[VECTORS];
static uint16_t *g_turn; /* which vector grows next */

/* ---- the sizes ---- */

static void add_size(size_t bytes)
{
    if (g_steps == MOST_STEPS)
        die("bench: growth has too many steps");
    g_size[g_steps++] = bytes;
}

static void sizes_by_factor(size_t last)
{
    g_size = pages(MOST_STEPS * sizeof *g_size);
    add_size(16);
    while (g_size[g_steps - 1] < last) {
        size_t next = (g_size[g_steps - 1] * 3 / 2 + WORD - 1) / WORD * WORD;
        add_size(next < last ? next : last);
    }
    g_operations = g_steps - 1;
}

static void vector_setup(void)
{
    sizes_by_factor(64 << 20);
}

static void append_setup(void)
{
    g_size = pages(MOST_STEPS * sizeof *g_size);
    for (size_t bytes = 64 << 10; bytes <= 256 << 20; bytes += 64 << 10)
        add_size(bytes);
    g_operations = g_steps - 1;
}

static void giant_setup(void)
{
    g_size = pages(MOST_STEPS * sizeof *g_size);
    for (size_t bytes = 16; bytes <= 1 << 30; bytes *= 2)
        add_size(bytes);
    g_operations = g_steps - 1;
}

/* ---- one block ---- */

static void stamp(char *block, unsigned step)
{
    touch(block + g_size[step] - WORD, step + 1);
}

static void check_stamps(const char *block, unsigned steps)
{
    for (unsigned step = 0; step < steps; step++)
        if (*(const volatile uint64_t *)(block + g_size[step] - WORD) != step + 1)
            die("bench: realloc lost what was in the block");
}

static char *grow(char *block, unsigned step)
{
    block = must(realloc(block, g_size[step]));
    stamp(block, step);
    return block;
}

static char *grow_and_write(char *block, unsigned step)
{
    block = must(realloc(block, g_size[step]));
    for (size_t at = g_size[step - 1]; at < g_size[step]; at += PAGE)
        touch(block + at, 0);
    stamp(block, step);
    return block;
}

static char *first_block(void)
{
    char *block = must(malloc(g_size[0]));
    stamp(block, 0);
    return block;
}

static uint64_t timed_free_of(char *block)
{
    uint64_t start = now_ns();
    free(block);
    return now_ns() - start;
}

static uint64_t single_repeat(char *(*one_step)(char *block, unsigned step))
{
    uint64_t start = now_ns();
    char *block = first_block();
    for (unsigned step = 1; step < g_steps; step++)
        block = one_step(block, step);
    uint64_t spent = now_ns() - start;
    check_stamps(block, g_steps);
    return spent + timed_free_of(block);
}

static uint64_t written_repeat(void)
{
    return single_repeat(grow_and_write);
}

static uint64_t giant_repeat(void)
{
    return single_repeat(grow);
}

/* ---- many blocks ---- */

static void many_setup(void)
{
    struct random r = {.state = 42};
    sizes_by_factor(12 << 10);
    g_operations = (uint64_t)VECTORS * (g_steps - 1);
    uint32_t turns = (uint32_t)g_operations, *order = pages(turns * sizeof *order);
    random_order(&r, order, turns);
    g_turn = pages(turns * sizeof *g_turn);
    for (uint32_t i = 0; i < turns; i++)
        g_turn[i] = (uint16_t)(order[i] % VECTORS);
    munmap(order, turns * sizeof *order);
}

static uint64_t many_grow(void)
{
    uint64_t start = now_ns();
    for (unsigned v = 0; v < VECTORS; v++)
        g_vector[v] = first_block();
    for (const uint16_t *turn = g_turn; turn < g_turn + g_operations; turn++)
        g_vector[*turn] = grow(g_vector[*turn], ++g_done[*turn]);
    return now_ns() - start;
}

static uint64_t many_free(void)
{
    uint64_t start = now_ns();
    for (unsigned v = 0; v < VECTORS; v++)
        free(g_vector[v]);
    return now_ns() - start;
}

static uint64_t many_repeat(void)
{
    memset(g_done, 0, sizeof g_done);
    uint64_t spent = many_grow();
    for (unsigned v = 0; v < VECTORS; v++)
        check_stamps(g_vector[v], g_steps);
    return spent + many_free();
}

static const struct row g_rows[] = {
    {.name = "growth_vector", .operation = "realloc x 1.5 from 16 B to 64 MiB, each new page written", .threads = 1,
     .setup = vector_setup, .repeat = written_repeat},
    {.name = "growth_append", .operation = "realloc + 64 KiB up to 256 MiB, each new page written", .threads = 1,
     .setup = append_setup, .repeat = written_repeat},
    {.name = "growth_giant", .operation = "realloc x 2 from 16 B to 1 GiB, the last page of each size written",
     .threads = 1, .setup = giant_setup, .repeat = giant_repeat},
    {.name = "growth_many", .operation = "realloc x 1.5 of a random one of 1,000 blocks from 16 B to 12 KiB",
     .threads = 1, .setup = many_setup, .repeat = many_repeat},
};

BENCH_PROGRAM(g_rows, NULL, 0)
