/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tails.c: the time of single calls, of a heap that grows to 400 MiB and falls to nothing three times. See tails.py.
 *
 * what      malloc of 16 to 4,000 B with a write to each page of the block, and free, in the order of the mallocs. Prints
 *           the file that malloc is of, and a line for each kind of call: number of calls, median, 99.9th and 99.99th
 *           percentile, longest, all [ns].
 * owner     The program; times are kept in a mapping of its own, fetched before the first call.
 * failure   No memory: exit status 1.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { ROUNDS = 3, LEAST = 16, MOST = 4000, PAGE = 4096, BLOCKS = (400 << 20) / ((LEAST + MOST) / 2) };
static uint32_t *g_times[2]; /* [ns] of each malloc, of each free */
static char **g_blocks;

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *table(size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (p == MAP_FAILED) exit(1);
  return p;
}

static size_t next_size(uint32_t *state) {
  *state = *state * 1664525 + 1013904223;
  return LEAST + (*state >> 8) % (MOST - LEAST + 1);
}

static void grow(uint32_t *times, uint32_t *state) {
  for (size_t i = 0; i < BLOCKS; i++) {
    size_t bytes = next_size(state);
    uint64_t begun = now();
    char *p = malloc(bytes);
    if (p == NULL) exit(1);
    for (size_t at = 0; at < bytes; at += PAGE) ((volatile char *)p)[at] = 1;
    ((volatile char *)p)[bytes - 1] = 1;
    times[i] = (uint32_t)(now() - begun);
    g_blocks[i] = p;
  }
}

static void fall(uint32_t *times) {
  for (size_t i = 0; i < BLOCKS; i++) {
    uint64_t begun = now();
    free(g_blocks[i]);
    times[i] = (uint32_t)(now() - begun);
  }
}

static int compare(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static void tell(const char *kind, uint32_t *times) {
  size_t n = (size_t)ROUNDS * BLOCKS;
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += times[i];
  qsort(times, n, sizeof *times, compare);
  printf("%s %zu %u %u %u %u %llu\n", kind, n, times[n / 2], times[n - n / 1000], times[n - n / 10000], times[n - 1],
         (unsigned long long)sum);
}

int main(void) {
  uint32_t state = 1;
  Dl_info of_malloc;
  if (dladdr(dlsym(RTLD_DEFAULT, "malloc"), &of_malloc) == 0) return 1;
  printf("served %s\n", of_malloc.dli_fname);
  g_blocks = table(BLOCKS * sizeof *g_blocks);
  for (int i = 0; i < 2; i++) g_times[i] = table((size_t)ROUNDS * BLOCKS * sizeof **g_times);
  for (size_t round = 0; round < ROUNDS; round++) {
    grow(g_times[0] + round * BLOCKS, &state);
    fall(g_times[1] + round * BLOCKS);
  }
  tell("malloc", g_times[0]);
  tell("free", g_times[1]);
  return 0;
}
