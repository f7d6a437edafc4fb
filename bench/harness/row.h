/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* row.h: one benchmark: name, operation, setup, repetition and end.
 *
 * what      A program of this folder defines `static const struct row g_rows[]` and, for numbers on the command line,
 *           `static const struct parameter g_parameters[]`, and ends with BENCH_PROGRAM.
 * owner     A row per process, so that every row starts with a fresh heap.
 * hot path  `repeat` reads the clock once before and once after the timed part.
 * not here  The command line and the printing: main.h.
 */
#ifndef HAKMEM_BENCH_ROW_H
#define HAKMEM_BENCH_ROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct row {
    const char *name;      /* unique over all programs, for example tiny_16_lifo */
    const char *operation; /* description of one operation, in a few words */
    uint64_t operations;   /* per repetition; a row with a number unknown at compile time sets g_operations in setup or
                            * repeat */
    unsigned threads;      /* that allocate at once */
    bool once;             /* happens once in a process: no warm-up, and --seconds does not apply */
    void (*preset)(void);  /* gives the parameters this row's values, before the command line's; may be NULL */
    void (*setup)(void);   /* may be NULL */
    uint64_t (*repeat)(void); /* one repetition: returns the time of the timed part [ns] */
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

/* Prints one more figure of this run as a line name=value. Only from finish, outside the timed part. */
static inline void report(const char *name, double value)
{
    printf("%s=%.15g\n", name, value);
}

#endif
