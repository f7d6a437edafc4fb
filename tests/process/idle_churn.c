/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* idle_churn.c KIND END: blocks worth 96 MiB are replaced again and again, then all are freed, and no call comes any
 * more. Tests that memory is released.
 *   KIND   segments: up to 8 MiB; pages: 5 to 200 KB; records: up to 400 B; mixed: all three
 *   END    parked: a second thread never calls malloc; all but STAYS_BYTES goes
 *          alone: one thread; no more than ALONE_BYTES stays at once
 * Prints the resident bytes at the end. */
#include <pthread.h>

#include "observe.h"

enum { BLOCKS = 1 << 20, ROUNDS = 4 };

#define LOAD_BYTES (96 * MIB)
#define STAYS_BYTES (12 * MIB)
#define ALONE_BYTES (16 * MIB) /* 4 MiB of runs, big blocks and slabs each, and what the library has besides */

static char *g_block[BLOCKS];
static uint32_t g_bytes[BLOCKS];
static size_t g_before;

static size_t length_of(const char *kind, uint32_t *state) {
  const uint32_t dice = work_next(state) % 100, part = work_next(state) << 8 >> 8;
  const int mixed = strcmp(kind, "mixed") == 0;
  if (strcmp(kind, "segments") == 0 || (mixed && dice == 0)) return 256 * 1024 + part % (8 * MIB - 256 * 1024);
  if (strcmp(kind, "pages") == 0 || (mixed && dice < 10)) return 5000 + part % 195000;
  return 16 + part % 385;
}

static void take(size_t i, const char *kind, uint32_t *state) {
  g_bytes[i] = (uint32_t)length_of(kind, state);
  g_block[i] = malloc(g_bytes[i]);
  work_expect(g_block[i] != NULL, "no memory");
  memset(g_block[i], 1, g_bytes[i]);
}

static size_t fill(const char *kind, uint32_t *state) {
  size_t n = 0;
  for (size_t bytes = 0; bytes < LOAD_BYTES && n < BLOCKS; bytes += g_bytes[n++]) take(n, kind, state);
  return n;
}

static void churn(const char *kind) {
  uint32_t state = 1;
  const size_t n = fill(kind, &state);
  for (size_t step = 0; step < ROUNDS * n; step++) {
    const size_t i = work_next(&state) % n;
    free(g_block[i]);
    take(i, kind, &state);
  }
  for (size_t i = 0; i < n; i++) free(g_block[i]);
}

static size_t grown(void) {
  const size_t now = anonymous_bytes();
  return now - (now < g_before ? now : g_before);
}

static bool little_stays(void) { return grown() <= STAYS_BYTES; }

static void *park(void *own) {
  for (;;) pause();
  return own;
}

int main(int count, char **arguments) {
  pthread_t thread;
  work_expect(count == 3, "usage: idle_churn KIND END");
  const int parked = strcmp(arguments[2], "parked") == 0;
  if (parked) pthread_create(&thread, NULL, park, NULL);
  memset(g_block, 1, sizeof g_block);
  memset(g_bytes, 1, sizeof g_bytes);
  g_before = anonymous_bytes();
  churn(arguments[1]);
  const int gone = !parked || comes_true(little_stays);
  printf("%zu KiB\n", grown() >> 10);
  fflush(stdout);
  work_expect(gone, "memory stays beside a thread that never allocates");
  work_expect(parked || grown() <= ALONE_BYTES, "more stays than a program of one thread may keep");
  return 0;
}
