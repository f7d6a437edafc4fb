/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* checked.h: work that a forked child must still be able to do, wherever the fork cut.
 *
 * what      checked_fill(live) allocates the blocks that outlive the cut. checked_child(live, counts) then uses every
 *           block layer in rounds: blocks are allocated, filled with different patterns and compared after the last
 *           allocation, so that memory handed out twice is detected.
 * owner     struct checked_live and struct checked_counts, the program's.
 * failure   A line on stderr and exit status 1.
 * not here  Where the fork cuts (cuts.c).
 */
#ifndef HAK_TESTS_CUTS_CHECKED_H
#define HAK_TESTS_CUTS_CHECKED_H

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

#include "../process/workload.h"
#include "hakmem/hakmem.h"

/* Blocks of each size per round: more than magazines, depot and a partial slab hold together. */
static const struct checked_size {
  size_t bytes;
  int count;
} checked_sizes[] = {{16, 300},  {48, 300},   {112, 300},  {640, 200},    {1000, 200},    {5000, 12},
                     {33000, 6}, {70000, 12}, {200000, 6}, {1100000, 6}, {1500000, 6}};

enum { CHECKED_SIZES = sizeof checked_sizes / sizeof checked_sizes[0], CHECKED_LIVE = 600, CHECKED_MOST = 1500 };

struct checked_block {
  unsigned char *p;
  size_t n;
};

struct checked_live {
  struct checked_block blocks[CHECKED_LIVE];
};

/* Inside the library: bytes reserved for caches, units of all slabs. */
struct checked_counts {
  const int64_t *budget, *units;
};

/* Small blocks are checked whole, larger blocks at both ends. */
static inline size_t checked_span(size_t n) { return n <= 1000 ? n : 64; }

static inline void checked_mark(struct checked_block b, unsigned pattern) {
  const size_t span = checked_span(b.n);
  memset(b.p, (int)(pattern & 0xff), span);
  memset(b.p + b.n - span, (int)(pattern & 0xff), span);
}

static inline void checked_compare(struct checked_block b, unsigned pattern, const char *what) {
  const size_t span = checked_span(b.n);
  for (size_t i = 0; i < span; i++) {
    const int good = b.p[i] == (pattern & 0xff) && b.p[b.n - 1 - i] == (pattern & 0xff);
    work_expect(good, what);
  }
}

static inline struct checked_block checked_take(size_t n, unsigned pattern) {
  const struct checked_block b = {malloc(n), n};
  work_expect(b.p != NULL, "no memory");
  checked_mark(b, pattern);
  return b;
}

static inline unsigned checked_live_pattern(int i) { return (unsigned)i * 13 + 1; }

/* Mostly small blocks, every fifth of any size. */
static inline void checked_fill(struct checked_live *live) {
  for (int i = 0; i < CHECKED_LIVE; i++) {
    const size_t n = checked_sizes[i % 5 == 0 ? i / 5 % CHECKED_SIZES : i % 5].bytes;
    live->blocks[i] = checked_take(n, checked_live_pattern(i));
  }
}

static inline void checked_compare_live(const struct checked_live *live) {
  for (int i = 0; i < CHECKED_LIVE; i++) {
    if (live->blocks[i].p == NULL) continue;
    checked_compare(live->blocks[i], checked_live_pattern(i), "a block from before the fork changed");
  }
}

static inline void checked_free_live(struct checked_live *live, int step) {
  for (int i = 0; i < CHECKED_LIVE; i += step) {
    free(live->blocks[i].p);
    live->blocks[i].p = NULL;
  }
}

static inline void checked_round(const struct checked_live *live, unsigned seed) {
  static struct checked_block taken[CHECKED_MOST];
  int n = 0;
  for (int s = 0; s < CHECKED_SIZES; s++)
    for (int i = 0; i < checked_sizes[s].count; i++, n++)
      taken[n] = checked_take(checked_sizes[s].bytes, (unsigned)n * 7 + seed);
  for (int i = 0; i < n; i++) checked_compare(taken[i], (unsigned)i * 7 + seed, "one address was handed out twice");
  checked_compare_live(live);
  for (int i = 0; i < n; i++) free(taken[i].p);
}

static inline void *checked_thread(void *live) {
  checked_round(live, 5);
  return NULL;
}

/* A cut may leave a count too high (the blocks in flight leak), never too low: below zero a count would look huge. */
static inline void checked_compare_counts(const struct checked_counts *inside) {
  int (*stats)(struct hak_stats *) = (int (*)(struct hak_stats *))dlsym(RTLD_DEFAULT, "hak_get_stats");
  struct hak_stats s = {.version = HAK_STATS_VERSION, .size = sizeof s};
  work_expect(stats != NULL && stats(&s) == 0, "libhakmem.so is not there");
  const uint64_t counts[] = {s.in_use,    s.cached,     s.slab_bytes, s.slab_live,  s.large_live, s.big_live,
                             s.big_cached, s.span_dirty, s.span_clean, s.metadata, s.mapped,
                             s.big_blocks};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
    work_expect(counts[i] < (uint64_t)1 << 40, "a count fell below zero");
  work_expect(s.threads >= 1 && s.threads < 8, "the count of threads is wrong");
  work_expect(*inside->budget >= 0, "more was given back to the caches' budget than was taken");
  work_expect(*inside->budget < 1 << 20, "the caches' budget leaks");
  work_expect(*inside->units >= (int64_t)(s.slab_bytes >> 16), "a slab's units are not counted");
}

/* Ends the process. */
__attribute__((noreturn)) static inline void checked_child(struct checked_live *live,
                                                            const struct checked_counts *counts) {
  pthread_t thread;
  alarm(60);
  checked_round(live, 3);
  work_expect(pthread_create(&thread, NULL, checked_thread, live) == 0, "no thread");
  pthread_join(thread, NULL);
  checked_free_live(live, 2);
  checked_round(live, 4);
  malloc_trim(0);
  checked_free_live(live, 1);
  malloc_trim(0);
  checked_compare_counts(counts);
  checked_round(live, 6);
  _exit(0);
}

#endif
