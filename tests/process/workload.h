/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* workload.h: a program's usual calls of malloc, a little of each, checked.
 *
 * what      work(seed) allocates, fills, grows, checks and frees blocks of all sizes; any wrong byte ends the program.
 * owner     The caller's thread; every block is freed.
 * failure   A line on stderr and exit status 1.
 * not here  The special situation of the process (each program of this folder).
 */
#ifndef HAK_TESTS_PROCESS_WORKLOAD_H
#define HAK_TESTS_PROCESS_WORKLOAD_H

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORK_BLOCKS 48

struct work_block {
  unsigned char *p;
  size_t n;
  unsigned char mark;
};

__attribute__((noreturn)) static inline void work_failed(const char *what) {
  dprintf(STDERR_FILENO, "test program: %s\n", what);
  _exit(1);
}

static inline void work_expect(int good, const char *what) {
  if (!good) work_failed(what);
}

static inline uint32_t work_next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* Mostly small; now and then a large or big block. */
static inline size_t work_size(uint32_t *state) {
  const uint32_t dice = work_next(state) % 64;
  if (dice < 48) return work_next(state) % 1000;
  if (dice < 60) return work_next(state) % 32768;
  if (dice < 63) return work_next(state) % 500000;
  return 1100000 + work_next(state) % 1000000;
}

static inline void work_mark(struct work_block *block, unsigned char mark) {
  block->mark = mark;
  if (block->n > 0) block->p[0] = block->p[block->n - 1] = block->p[block->n / 2] = mark;
}

static inline void work_check(const struct work_block *block) {
  if (block->n == 0) return;
  work_expect(block->p[0] == block->mark, "first byte of a block changed");
  work_expect(block->p[block->n - 1] == block->mark, "last byte of a block changed");
  work_expect(block->p[block->n / 2] == block->mark, "middle byte of a block changed");
}

static inline void work_take(struct work_block *block, uint32_t *state) {
  block->n = work_size(state);
  block->p = (unsigned char *)(work_next(state) % 4 == 0 ? calloc(1, block->n) : malloc(block->n));
  work_expect(block->p != NULL, "no memory");
  work_expect(((uintptr_t)block->p & 15) == 0, "block not aligned");
  work_mark(block, (unsigned char)work_next(state));
}

static inline void work_grow(struct work_block *block, uint32_t *state) {
  const size_t n = work_size(state) + 1;
  if (block->n == 0) return;
  unsigned char *p = (unsigned char *)realloc(block->p, n);
  work_expect(p != NULL, "no memory to grow");
  work_expect(p[0] == block->mark, "realloc lost a byte");
  block->p = p;
  block->n = n;
  work_mark(block, (unsigned char)work_next(state));
}

static inline void work(uint32_t seed) {
  struct work_block blocks[WORK_BLOCKS];
  uint32_t state = seed * 2654435761u + 1;
  memset(blocks, 0, sizeof blocks);
  for (int i = 0; i < 10 * WORK_BLOCKS; i++) {
    struct work_block *block = &blocks[work_next(&state) % WORK_BLOCKS];
    if (block->p != NULL) work_check(block);
    if (block->p != NULL && work_next(&state) % 4 == 0) {
      work_grow(block, &state);
      continue;
    }
    free(block->p);
    work_take(block, &state);
  }
  for (int i = 0; i < WORK_BLOCKS; i++) {
    if (blocks[i].p != NULL) work_check(&blocks[i]);
    free(blocks[i].p);
  }
}

#endif
