/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* base.h: tools of every benchmark program: a clock, arrays that do not come from malloc, a first write.
 *
 * what      PAGE, now_ns, pages, touch, must, die.
 * owner     Arrays live until the process ends, so that the allocator under test never sees them.
 * hot path  touch and must only; everything else runs outside the timed part.
 * failure   die: one line on stderr, exit status 1.
 * not here  Rows and the command line (main.h), threads (crew.h), proof of the serving library (proof.h).
 */
#ifndef HAKMEM_BENCH_BASE_H
#define HAKMEM_BENCH_BASE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096 };

_Noreturn static void die(const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A zeroed array of the harness itself, touched before use. */
static inline void *pages(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p == MAP_FAILED)
        die("bench: no memory for the harness's own arrays");
    return p;
}

/* Writes the block's first word, as a program's first use of a new block does. Blocks are at least 8 bytes long. */
static inline void touch(void *block, uint64_t value)
{
    *(volatile uint64_t *)block = value;
}

static inline void *must(void *block)
{
    if (__builtin_expect(block == NULL, 0))
        die("bench: malloc returned NULL");
    return block;
}

#endif
