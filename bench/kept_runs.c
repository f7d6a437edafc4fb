/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kept_runs.c: cost of a block of some tens of pages that is freed at once.
 *
 * what      malloc of 32 to 256 KiB, one byte written, free: one block at a time, every size as likely.
 * owner     The main thread, the only thread.
 * hot path  Sizes come from a table.
 * failure   As base.h.
 * not here  Several at once, of these sizes: scenarios.c.
 */
#define _GNU_SOURCE
#include "harness/harness.h"

enum { LEAST = 32 << 10, MOST = 256 << 10, PAIRS = 1 << 12 };

static uint32_t *g_size;

static void runs_setup(void)
{
    struct random random = {.state = 42};
    g_size = pages(PAIRS * sizeof *g_size);
    for (unsigned i = 0; i < PAIRS; i++)
        g_size[i] = random_between(&random, LEAST, MOST);
}

static uint64_t runs_repeat(void)
{
    uint64_t start = now_ns();
    for (unsigned i = 0; i < PAIRS; i++) {
        volatile char *block = must(malloc(g_size[i]));
        *block = 1;
        free((void *)block);
    }
    return now_ns() - start;
}

static const struct row g_rows[] = {
    {.name = "kept_runs", .operation = "malloc(32-256 KiB), one byte written, free", .operations = PAIRS, .threads = 1,
     .setup = runs_setup, .repeat = runs_repeat},
};

BENCH_PROGRAM(g_rows, NULL, 0)
