/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* random_mixed.c: malloc and free in random alternation over a working set of slots.
 *
 * what      Arguments: cycles, working set, seed, and the largest size. A cycle visits a random slot: a full slot's
 *           block is freed, an empty slot gets a block of 8 bytes up to the largest size. So half of the slots are
 *           full, and no branch predictor learns the next call. Two cycles are one operation.
 * owner     A row per process.
 * hot path  Slots and sizes come from a table made before from the seed.
 * failure   As the harness.
 * not here  Replacement, where every step frees and allocates: micro.c.
 */
#define _GNU_SOURCE
#include "harness/harness.h"

enum { LEAST_STEPS = 1 << 16, LOW = 8, HIGHEST = 1 << 20, MOST_SLOTS = 1 << 20 };

struct step {
    uint32_t slot, bytes;
};

static uint64_t g_cycles = 400000, g_working_set = 4096, g_seed = 42, g_top = 128;
static void **g_slot;
static struct step *g_step;
static uint32_t g_steps = LEAST_STEPS, g_next;

static void preset_256(void)
{
    g_top = 256;
}

static void preset_512(void)
{
    g_top = 512;
}

static void preset_1024(void)
{
    g_top = 1024;
}

static void preset_2048(void)
{
    g_top = 2048;
}

static void preset_4096(void)
{
    g_top = 4096;
}

static void setup(void)
{
    struct random random = {g_seed};
    while (g_steps < 4 * g_working_set)
        g_steps *= 2;
    g_slot = pages(g_working_set * sizeof *g_slot);
    g_step = pages(g_steps * sizeof *g_step);
    for (uint32_t i = 0; i < g_steps; i++) {
        g_step[i].slot = random_below(&random, (uint32_t)g_working_set);
        g_step[i].bytes = random_between(&random, LOW, (uint32_t)g_top);
    }
    g_operations = g_cycles / 2;
}

static inline void visit(void **slot, uint32_t bytes)
{
    if (*slot != NULL) {
        free(*slot);
        *slot = NULL;
    } else {
        touch(*slot = must(malloc(bytes)), bytes);
    }
}

static uint64_t repeat(void)
{
    uint32_t next = g_next, wrap = g_steps - 1;
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < g_cycles; i++, next++)
        visit(&g_slot[g_step[next & wrap].slot], g_step[next & wrap].bytes);
    uint64_t spent = now_ns() - start;
    g_next = next;
    return spent;
}

#define RANDOM_MIXED(suffix, sizes, top_preset)                                                                  \
    {.name = "random_mixed" suffix, .operation = "malloc " sizes " B, write, free: twice a random slot changes", \
     .threads = 1, .preset = top_preset, .setup = setup, .repeat = repeat}

static const struct row g_rows[] = {
    RANDOM_MIXED("", "8-128", NULL),
    RANDOM_MIXED("_256", "8-256", preset_256),
    RANDOM_MIXED("_512", "8-512", preset_512),
    RANDOM_MIXED("_1024", "8-1,024", preset_1024),
    RANDOM_MIXED("_2048", "8-2,048", preset_2048),
    RANDOM_MIXED("_4096", "8-4,096", preset_4096),
};

static const struct parameter g_parameters[] = {
    {"cycles", &g_cycles, 2, 1u << 30},
    {"working_set", &g_working_set, 1, MOST_SLOTS},
    {"seed", &g_seed, 0, UINT64_MAX},
    {"top", &g_top, LOW, HIGHEST},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
