/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* row.h: one benchmark: its name, what one operation of it is, and how it is set up, repeated and finished.
 *
 * what      A program of this folder defines `static const struct row g_rows[]` and, where it takes numbers on the
 *           command line, `static const struct parameter g_parameters[]`, and ends with BENCH_PROGRAM.
 * owner     One row per process, so that no row finds the heap another one left.
 * hot path  `repeat` times itself: it reads the clock once before and once after its timed part.
 * not here  The command line and the printing: main.h.
 */
#ifndef HAKMEM_BENCH_ROW_H
#define HAKMEM_BENCH_ROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct row {
    const char *name;      /* unique over all programs, such as tiny_16_lifo */
    const char *operation; /* what one operation is, in a few words */
    uint64_t operations;   /* per repetition; a row that learns it later sets g_operations in setup or repeat */
    unsigned threads;      /* that allocate at once */
    bool once;             /* happens once in a process: nothing warms up before it and --seconds does not apply */
    void (*preset)(void);  /* gives the parameters this row's values, before the command line's; may be NULL */
    void (*setup)(void);   /* may be NULL */
    uint64_t (*repeat)(void); /* one repetition: nanoseconds of the timed part */
    void (*finish)(void);  /* after the last repetition; may be NULL */
};

/* A number that the command line may set, by position or as name=value. */
struct parameter {
    const char *name;
    uint64_t *value;
    uint64_t least, most;
};

static const struct row *g_row;
static uint64_t g_operations; /* of the last repetition */

/* One more figure of this run: printed as a line name=value. Only from finish, outside what is timed. */
static inline void report(const char *name, double value)
{
    printf("%s=%.15g\n", name, value);
}

#endif
