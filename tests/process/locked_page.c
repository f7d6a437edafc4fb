/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* locked_page.c HOW: a program locks a page of a block and frees the block locked. Only memory around that page stays
 * resident.
 *   trimmed      many free runs apart from each other, the page in one run: a trim releases the remaining runs
 *   inside       the page lies inside one long free run: a trim releases the rest of that run
 *   waits        the program has a background thread, has used its memory lately, and idles: the rest is released in
 *                time */
#include <pthread.h>
#include <sys/mman.h>

#include "observe.h"

enum { RUNS = 400, RUN_BYTES = 600000, BLOCKS = 200000, BLOCK_BYTES = 1000, BURSTS = 5, MAY_STAY = 8 * MIB };

static char *g_block[BLOCKS];
static char *g_between[RUNS];
static int g_ready;

static void lock_page_of(char *block) { work_expect(mlock(block, 1) == 0, "mlock"); }

/* A price of 0: no memory is released before the trim. */
static void use_runs(bool apart) {
  work_expect(hak_set("price", "0") == 0, "hak_set");
  for (int i = 0; i < RUNS; i++) {
    g_block[i] = memset(malloc(RUN_BYTES), 1, RUN_BYTES);
    if (apart) g_between[i] = memset(malloc(RUN_BYTES), 1, 1);
  }
  lock_page_of(g_block[RUNS / 3] + RUN_BYTES / 2);
  for (int i = 0; i < RUNS; i++) free(g_block[i]);
}

static void *wait_for_ever(void *unused) {
  char *volatile block = malloc(100);
  free(block);
  __atomic_store_n(&g_ready, 1, __ATOMIC_RELEASE);
  for (;;) rest_ms(PATIENCE_MS);
  return unused;
}

static void start_thread(void) {
  pthread_t thread;
  work_expect(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0, "pthread_create");
  while (!__atomic_load_n(&g_ready, __ATOMIC_ACQUIRE)) rest_ms(1);
}

static void burst(void) {
  for (int i = 0; i < BLOCKS; i++) g_block[i] = memset(malloc(BLOCK_BYTES), 1, BLOCK_BYTES);
  for (int i = 0; i < BLOCKS; i++) free(g_block[i]);
}

static void use_and_wait(size_t most) {
  start_thread();
  char *block = memset(malloc(RUN_BYTES / 2), 1, RUN_BYTES / 2);
  lock_page_of(block);
  free(block);
  for (int i = 0; i < BURSTS; i++) burst();
  for (uint64_t end = now_ms() + PATIENCE_MS; anonymous_bytes() > most && now_ms() < end;) rest_ms(LOOK_EVERY_MS);
}

int main(int count, char **arguments) {
  work_expect(count == 2, "usage: locked_page trimmed | inside | waits");
  memset(g_block, 1, sizeof g_block);
  const size_t base = anonymous_bytes();
  if (strcmp(arguments[1], "waits") == 0) use_and_wait(base + MAY_STAY);
  else use_runs(strcmp(arguments[1], "trimmed") == 0), malloc_trim(0);
  const size_t in_use = g_between[0] != NULL ? RUNS * (size_t)sysconf(_SC_PAGESIZE) : 0; /* a page of each between */
  const size_t stays = anonymous_bytes() - base - in_use;
  printf("%.1f MiB stay\n", (double)stays / (double)MIB);
  work_expect(stays <= MAY_STAY, "memory stays because one page is locked");
  return 0;
}
