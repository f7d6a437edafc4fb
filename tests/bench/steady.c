/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* steady.c: a benchmark program whose every call is known to the test.
 *
 * what      The row `steady`: 1,000 times malloc and free of 4,008 B, and every tenth time a block of 64 KiB before.
 *           The row runs twice, once to warm up: call 2k is the k-th malloc of 4,008 B, call 2k + 1 its free.
 * failure   As the harness's.
 * not here  The cost of the calls: costly.c. The test: test_worst.py.
 */
#define _GNU_SOURCE
#include "harness/harness.h"

enum { PAIRS = 1000, BYTES = 4008, LARGE = 64 << 10 };

static uint64_t steady_repeat(void)
{
    uint64_t start = now_ns();
    for (unsigned i = 0; i < PAIRS; i++) {
        if (i % 10 == 0)
            free(must(malloc(LARGE)));
        void *block = must(malloc(BYTES));
        touch(block, i);
        free(block);
    }
    return now_ns() - start;
}

static const struct row g_rows[] = {
    {.name = "steady", .operation = "malloc and free", .operations = PAIRS, .threads = 1, .repeat = steady_repeat},
};
BENCH_PROGRAM(g_rows, NULL, 0)
