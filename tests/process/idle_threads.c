/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* idle_threads.c LOAD WHAT [SHARE]: 64 threads fill 3.9 MiB each with blocks of 64 bytes, free most blocks in random
 * order, and idle. Tests that memory is released.
 *   LOAD     all: every block is freed; some: all but one in 64, neighbours survive together; each: all but one in 64,
 *            one on every page
 *   WHAT     trimmed: the main thread calls malloc_trim; waits: no thread makes a call
 *   SHARE    percentage of the peak that may stay in the end beside the pages of surviving blocks; without SHARE the
 *            program passes after four seconds whatever the figures, with any malloc
 * Prints MiB of anonymous memory above that of 64 threads that have used a block each: at the peak, before, and after;
 * and the pages of surviving blocks. */
#include <pthread.h>
#include <stdatomic.h>

#include "observe.h"

enum { THREADS = 64, BYTES = 64, BLOCKS = 3900 * 1024 / BYTES, KEPT_OF = 64, WAIT_MS = 4000, SLOT_BITS = 18 };

static char *g_block[THREADS][BLOCKS];
static pthread_t g_thread[THREADS];
static uintptr_t g_page[1 << SLOT_BITS];
static atomic_int g_begun, g_filled, g_emptied, g_may_fill, g_may_free, g_may_end;
static const char *g_load;

/* Visits every block, each far from the last. */
static int nth(int i) { return (int)((int64_t)i * 7919 % BLOCKS); }

static bool survives(int i) {
  if (strcmp(g_load, "all") == 0) return false;
  return (strcmp(g_load, "some") == 0 ? i / KEPT_OF : i) % KEPT_OF == 0;
}

static void wait_for(atomic_int *cell, int value) {
  while (atomic_load(cell) < value) rest_ms(1);
}

static void *use(void *own) {
  char **block = own;
  free(memset(malloc(BYTES), 1, BYTES));
  atomic_fetch_add(&g_begun, 1);
  wait_for(&g_may_fill, 1);
  for (int i = 0; i < BLOCKS; i++) block[i] = memset(malloc(BYTES), i, BYTES);
  atomic_fetch_add(&g_filled, 1);
  wait_for(&g_may_free, 1);
  for (int i = 0; i < BLOCKS; i++) {
    if (!survives(nth(i))) free(block[nth(i)]);
  }
  atomic_fetch_add(&g_emptied, 1);
  wait_for(&g_may_end, 1);
  for (int i = 0; i < BLOCKS; i++) {
    if (survives(i)) work_expect(block[i][0] == (char)i && block[i][BYTES - 1] == (char)i, "a block changed");
  }
  free(memset(malloc(BYTES), 1, BYTES));
  return NULL;
}

static size_t live_pages_bytes(void) {
  size_t pages = 0;
  for (int i = 0; i < THREADS; i++) {
    for (int j = 0; j < BLOCKS; j++) {
      if (survives(j)) pages += note_pages(g_page, SLOT_BITS, g_block[i][j], BYTES);
    }
  }
  return pages * page_bytes();
}

static void await(size_t base, size_t may_stay) {
  rest_ms(WAIT_MS);
  for (uint64_t end = now_ms() + PATIENCE_MS; anonymous_bytes() - base > may_stay && now_ms() < end;) rest_ms(LOOK_EVERY_MS);
}

int main(int count, char **arguments) {
  work_expect(count == 3 || count == 4, "usage: idle_threads LOAD WHAT [SHARE]");
  g_load = arguments[1];
  memset(g_block, 1, sizeof g_block);
  memset(g_page, 0, sizeof g_page);
  for (int i = 0; i < THREADS; i++) pthread_create(&g_thread[i], NULL, use, g_block[i]);
  wait_for(&g_begun, THREADS);
  const size_t base = anonymous_bytes();
  atomic_store(&g_may_fill, 1);
  wait_for(&g_filled, THREADS);
  const size_t peak = anonymous_bytes() - base;
  atomic_store(&g_may_free, 1);
  wait_for(&g_emptied, THREADS);
  const size_t freed = anonymous_bytes() - base, live = live_pages_bytes();
  const size_t may_stay = count == 4 ? live + peak * strtoul(arguments[3], NULL, 10) / 100 : SIZE_MAX;
  if (strcmp(arguments[2], "trimmed") == 0) malloc_trim(0);
  else await(base, may_stay);
  const size_t after = anonymous_bytes() - base;
  printf("peak %zu, after the frees %zu, now %.1f MiB, survivors' pages %.1f\n", peak / MIB, freed / MIB,
         (double)after / (double)MIB, (double)live / (double)MIB);
  atomic_store(&g_may_end, 1);
  for (int i = 0; i < THREADS; i++) pthread_join(g_thread[i], NULL);
  return after <= may_stay ? 0 : 1;
}
