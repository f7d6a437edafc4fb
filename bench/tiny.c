/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tiny.c: small blocks of one size, freed in four orders; then mixed sizes and lifetimes.
 *
 * what      16, 32, 64 and 128 bytes, each:
 *               lifo          1,000 allocated, freed in reverse order
 *               fifo          1,000 allocated, freed in order
 *               random        1,000 allocated, freed in a random order
 *               interleaved   1,000 live; free the oldest, allocate, free the oldest, allocate ...
 *           tiny_mixed is random with sizes of 8 to 128 bytes; in tiny_longlived every second block outlives 32,768
 *           later blocks, the rest 64, also of 8 to 128 bytes.
 * owner     A row per process.
 * hot path  Sizes and orders come from tables made before.
 * failure   As the harness.
 * not here  Heaps in which a random block dies at any time: random_mixed.c.
 */
#define _GNU_SOURCE
#include "harness/harness.h"

enum { LIVE = 1000, OPERATIONS = 200000, SHORT_LIVES = 32, LONG_LIVES = 1 << 14, SIZES = 1 << 12, LOW = 8, HIGH = 128 };

static size_t g_bytes;
static uint32_t g_order[LIVE];
static uint16_t g_size[SIZES];
static void *g_block[LIVE];
static void *g_short[SHORT_LIVES], *g_long[LONG_LIVES];

/* ---- one size ---- */

static void prepare(size_t bytes)
{
    struct random random = {42};
    g_bytes = bytes;
    random_order(&random, g_order, LIVE);
    for (unsigned i = 0; i < SIZES; i++)
        g_size[i] = (uint16_t)random_between(&random, LOW, HIGH);
}

static void setup_16(void)
{
    prepare(16);
}

static void setup_32(void)
{
    prepare(32);
}

static void setup_64(void)
{
    prepare(64);
}

static void setup_128(void)
{
    prepare(128);
}

static inline void fill(void)
{
    size_t bytes = g_bytes;
    for (unsigned i = 0; i < LIVE; i++)
        touch(g_block[i] = must(malloc(bytes)), i);
}

static uint64_t lifo_repeat(void)
{
    uint64_t start = now_ns();
    for (unsigned done = 0; done < OPERATIONS; done += LIVE) {
        fill();
        for (unsigned i = LIVE; i-- > 0;)
            free(g_block[i]);
    }
    return now_ns() - start;
}

static uint64_t fifo_repeat(void)
{
    uint64_t start = now_ns();
    for (unsigned done = 0; done < OPERATIONS; done += LIVE) {
        fill();
        for (unsigned i = 0; i < LIVE; i++)
            free(g_block[i]);
    }
    return now_ns() - start;
}

static inline void free_in_random_order(void)
{
    for (unsigned i = 0; i < LIVE; i++)
        free(g_block[g_order[i]]);
}

static uint64_t random_repeat(void)
{
    uint64_t start = now_ns();
    for (unsigned done = 0; done < OPERATIONS; done += LIVE) {
        fill();
        free_in_random_order();
    }
    return now_ns() - start;
}

static uint64_t interleaved_repeat(void)
{
    size_t bytes = g_bytes;
    uint64_t start = now_ns();
    for (unsigned done = 0; done < OPERATIONS; done += LIVE) {
        for (unsigned i = 0; i < LIVE; i++) {
            free(g_block[i]);
            touch(g_block[i] = must(malloc(bytes)), i);
        }
    }
    return now_ns() - start;
}

/* ---- many sizes ---- */

static void setup_mixed(void)
{
    prepare(0);
}

static uint64_t mixed_repeat(void)
{
    uint64_t start = now_ns();
    for (unsigned done = 0; done < OPERATIONS; done += LIVE) {
        for (unsigned i = 0; i < LIVE; i++)
            touch(g_block[i] = must(malloc(g_size[(done + i) % SIZES])), i);
        free_in_random_order();
    }
    return now_ns() - start;
}

static inline void replace(void **slot, unsigned step)
{
    free(*slot);
    touch(*slot = must(malloc(g_size[step % SIZES])), step);
}

static uint64_t longlived_repeat(void)
{
    uint64_t start = now_ns();
    for (unsigned i = 0; i < OPERATIONS / 2; i++) {
        replace(&g_short[i % SHORT_LIVES], 2 * i);
        replace(&g_long[i % LONG_LIVES], 2 * i + 1);
    }
    return now_ns() - start;
}

#define ONE_SIZE(bytes)                                                                                                \
    {.name = "tiny_" #bytes "_lifo", .operations = OPERATIONS, .threads = 1, .setup = setup_##bytes,                   \
     .operation = "one of 1,000 blocks of " #bytes " B: allocated, written, freed last one first",                     \
     .repeat = lifo_repeat},                                                                                           \
    {.name = "tiny_" #bytes "_fifo", .operations = OPERATIONS, .threads = 1, .setup = setup_##bytes,                   \
     .operation = "one of 1,000 blocks of " #bytes " B: allocated, written, freed first one first",                    \
     .repeat = fifo_repeat},                                                                                           \
    {.name = "tiny_" #bytes "_random", .operations = OPERATIONS, .threads = 1, .setup = setup_##bytes,                 \
     .operation = "one of 1,000 blocks of " #bytes " B: allocated, written, freed in random order",                    \
     .repeat = random_repeat},                                                                                         \
    {.name = "tiny_" #bytes "_interleaved", .operations = OPERATIONS, .threads = 1, .setup = setup_##bytes,            \
     .operation = "free the oldest of 1,000 blocks of " #bytes " B, malloc, write", .repeat = interleaved_repeat}

static const struct row g_rows[] = {
    ONE_SIZE(16),
    ONE_SIZE(32),
    ONE_SIZE(64),
    ONE_SIZE(128),
    {.name = "tiny_mixed", .operation = "one of 1,000 blocks of 8-128 B: allocated, written, freed in random order",
     .operations = OPERATIONS, .threads = 1, .setup = setup_mixed, .repeat = mixed_repeat},
    {.name = "tiny_longlived", .operation = "malloc 8-128 B, write, free: half outlive 32,768 blocks, half outlive 64",
     .operations = OPERATIONS, .threads = 1, .setup = setup_mixed, .repeat = longlived_repeat},
};

BENCH_PROGRAM(g_rows, NULL, 0)
