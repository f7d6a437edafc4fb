/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* steady.c THREADS SECONDS [LEAST MOST BLOCKS]: a steady load. Each thread (0: main alone) replaces random blocks of a
 * working set of constant size: of LEAST to MOST bytes, or of 16 B to 16 KiB and now and then a larger block. Tests
 * that released pages are not used again at once. Prints hole_pages, hole_again, replacements, and the percentage of
 * time that the threads had a processor. */
#include <pthread.h>

#include "observe.h"

enum { MOST_THREADS = 8, BLOCKS = 40000, BETWEEN_LOOKS = 256 };

struct worker {
  pthread_t thread;
  uint32_t state;
  uint64_t replaced;
  void *block[BLOCKS];
};

static struct worker g_worker[MOST_THREADS];
static uint64_t g_end_ms;
static size_t g_blocks = BLOCKS, g_least, g_most;

static size_t steady_size(uint32_t *state) {
  if (g_most != 0) return g_least + work_next(state) % (g_most - g_least + 1);
  const uint32_t dice = work_next(state) % 256;
  if (dice < 220) return 16 + work_next(state) % 500;
  if (dice < 255) return 500 + work_next(state) % 15500;
  return 16000 + work_next(state) % 150000;
}

static void replace(struct worker *w, size_t i) {
  free(w->block[i]);
  const size_t n = steady_size(&w->state);
  w->block[i] = malloc(n);
  work_expect(w->block[i] != NULL, "no memory");
  memset(w->block[i], 1, n);
}

static void *work_steadily(void *own) {
  struct worker *w = own;
  for (size_t i = 0; i < g_blocks; i++) replace(w, i);
  while (now_ms() < g_end_ms) {
    for (int i = 0; i < BETWEEN_LOOKS; i++) replace(w, (work_next(&w->state) ^ work_next(&w->state) << 8) % g_blocks);
    w->replaced += BETWEEN_LOOKS;
  }
  return NULL;
}

static void read_sizes(char **arguments) {
  g_least = strtoull(arguments[0], NULL, 10);
  g_most = strtoull(arguments[1], NULL, 10);
  g_blocks = strtoull(arguments[2], NULL, 10);
  work_expect(g_most >= g_least && g_blocks <= BLOCKS, "bad sizes");
}

static uint64_t percent_worked(int threads, uint64_t seconds) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  const uint64_t ms = (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
  return ms / 10 / (seconds * (uint64_t)(threads == 0 ? 1 : threads));
}

int main(int count, char **arguments) {
  work_expect(count == 3 || count == 6, "usage: steady THREADS SECONDS [LEAST MOST BLOCKS]");
  const int threads = atoi(arguments[1]);
  work_expect(threads <= MOST_THREADS, "too many threads");
  if (count == 6) read_sizes(arguments + 3);
  const uint64_t seconds = strtoull(arguments[2], NULL, 10);
  g_end_ms = now_ms() + seconds * 1000;
  for (int i = 0; i < MOST_THREADS; i++) g_worker[i].state = (uint32_t)i + 1;
  for (int i = 0; i < threads; i++) pthread_create(&g_worker[i].thread, NULL, work_steadily, &g_worker[i]);
  if (threads == 0) work_steadily(&g_worker[0]);
  for (int i = 0; i < threads; i++) pthread_join(g_worker[i].thread, NULL);
  uint64_t replaced = 0;
  for (int i = 0; i < MOST_THREADS; i++) replaced += g_worker[i].replaced;
  const uint64_t pages = counter_now("hole_pages"), again = counter_now("hole_again");
  printf("%llu %llu %llu %llu\n", (unsigned long long)pages, (unsigned long long)again, (unsigned long long)replaced,
         (unsigned long long)percent_worked(threads, seconds));
  return 0;
}
