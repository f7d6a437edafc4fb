/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* starved.c: 64 threads fill their magazines until the budget of all caches is used up, and idle. Tests that a new
 * thread still gets magazines. Run with a small process_cache_bytes, count_calls=on, and a price at which no other rule
 * drains. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "observe.h"

enum { THREADS = 64, BURST = 64, BURSTS = 4, LARGEST = 32 << 10, ROUNDS = 200, SIZES = 4, DEPTH = 50 * SIZES, ENOUGH = 98 };

static atomic_int g_filled, g_may_end;

static size_t size_after(size_t n) { return n + (n < 64 ? 16 : n / 4); }

static void take_and_free(size_t n) {
  void *block[BURST];
  for (int i = 0; i < BURST; i++) block[i] = malloc(n);
  for (int i = 0; i < BURST; i++) free(block[i]);
}

static void *fill_and_idle(void *unused) {
  for (int i = 0; i < BURSTS; i++) {
    for (size_t n = 16; n <= LARGEST; n = size_after(n)) take_and_free(n);
  }
  atomic_fetch_add(&g_filled, 1);
  while (!atomic_load(&g_may_end)) rest_ms(1);
  return unused;
}

/* 50 blocks of each size: more than the rest of the budget. */
static void use_some_sizes(void) {
  static const size_t sizes[SIZES] = {64, 320, 1024, 2048};
  void *block[DEPTH];
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < DEPTH; i++) block[i] = malloc(sizes[i % SIZES]);
    for (int i = DEPTH; i-- > 0;) free(block[i]);
  }
}

/* Percent of allocations that the thread's magazines served. */
static unsigned served(void) {
  const uint64_t before = counter_now("alloc_magazine");
  use_some_sizes();
  return (unsigned)((counter_now("alloc_magazine") - before) * 100 / (ROUNDS * DEPTH));
}

static void *be_new(void *unused) {
  unsigned first = served(), last = first;
  for (const uint64_t end = now_ms() + PATIENCE_MS; last < ENOUGH && now_ms() < end;) last = served();
  printf("at first %u %% of the calls, then %u %%\n", first, last);
  fflush(stdout);
  work_expect(last >= ENOUGH, "a new thread gets no magazines beside threads that idle");
  return unused;
}

int main(void) {
  pthread_t threads[THREADS], young;
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, fill_and_idle, NULL);
  while (atomic_load(&g_filled) < THREADS) rest_ms(1);
  pthread_create(&young, NULL, be_new, NULL);
  pthread_join(young, NULL);
  atomic_store(&g_may_end, 1);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  return 0;
}
