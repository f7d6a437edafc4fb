/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* unnoticed.c HOW: a single-threaded program frees much memory without freeing runs, and no more stays dirty than
 * allowed.
 *   shrunk       runs are cut down to one unit by realloc
 *   emptied      blocks of slabs are all freed, in random order: the slabs become runs
 */
#include "observe.h"

enum { RUNS = 200, RUN_BYTES = 1000000, CUT_BYTES = 60000, BLOCK_BYTES = 64, BLOCKS = 1 << 20, MAY_STAY = 5 * MIB };

static void *g_block[BLOCKS];

static size_t dirty_bytes(void) {
  struct hak_stats stats = {.version = HAK_STATS_VERSION, .size = sizeof stats};
  work_expect(hak_get_stats(&stats) == 0, "statistics");
  return stats.span_dirty;
}

static void fill(size_t blocks, size_t bytes) {
  for (size_t i = 0; i < blocks; i++) g_block[i] = memset(malloc(bytes), 1, bytes);
}

static void shrunk(void) {
  fill(RUNS, RUN_BYTES);
  for (size_t i = 0; i < RUNS; i++) g_block[i] = realloc(g_block[i], CUT_BYTES);
}

static void shuffle(void) {
  uint32_t state = 7;
  for (size_t i = BLOCKS - 1; i > 0; i--) {
    const size_t j = work_next(&state) % (i + 1);
    void *block = g_block[i];
    g_block[i] = g_block[j];
    g_block[j] = block;
  }
}

static void emptied(void) {
  fill(BLOCKS, BLOCK_BYTES);
  shuffle();
  for (size_t i = 0; i < BLOCKS; i++) free(g_block[i]);
}

int main(int count, char **arguments) {
  work_expect(count == 2, "usage: unnoticed shrunk | emptied");
  if (strcmp(arguments[1], "shrunk") == 0) shrunk();
  else emptied();
  work_expect(dirty_bytes() <= MAY_STAY, "more is kept free than may stay");
  return 0;
}
