/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rounds.c: 1,000 vectors grow in random turns to 12 KiB and are freed, round after round, within milliseconds. Tests that
 * memory which each round takes again is not given back in between: blocks of each size come and go, so the most that is
 * in use lies between two looks. Prints the pages that the first round and the later ones fetched. */
#include <sys/resource.h>

#include "observe.h"

enum { VECTORS = 1000, LAST = 12 << 10, TURNS = 17 * VECTORS, ROUNDS = 12, FIRST_ROUNDS = 6 };

static char *g_vector[VECTORS];
static size_t g_bytes[VECTORS];
static uint16_t g_turn[TURNS];

static void shuffle_turns(void) {
  uint32_t state = 1;
  for (size_t i = 0; i < TURNS; i++) g_turn[i] = (uint16_t)(i % VECTORS);
  for (size_t i = TURNS - 1; i > 0; i--) {
    const size_t j = work_next(&state) % (i + 1);
    const uint16_t turn = g_turn[i];
    g_turn[i] = g_turn[j];
    g_turn[j] = turn;
  }
}

static void grow(size_t v) {
  const size_t more = (g_bytes[v] * 3 / 2 + 7) / 8 * 8;
  const size_t bytes = g_bytes[v] == 0 ? 16 : more < LAST ? more : LAST;
  g_vector[v] = realloc(g_vector[v], bytes);
  work_expect(g_vector[v] != NULL, "no memory");
  g_vector[v][bytes - 1] = 1;
  g_bytes[v] = bytes;
}

/* Returns the pages that were fetched. */
static long go_round(void) {
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  for (size_t i = 0; i < TURNS; i++) grow(g_turn[i]);
  for (size_t v = 0; v < VECTORS; v++) {
    free(g_vector[v]);
    g_vector[v] = NULL;
    g_bytes[v] = 0;
  }
  getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

int main(void) {
  shuffle_turns();
  const long first = go_round();
  long later = 0;
  for (int round = 1; round < ROUNDS; round++) {
    const long pages = go_round();
    if (round >= FIRST_ROUNDS) later += pages;
  }
  printf("%ld pages at first, %ld later\n", first, later);
  work_expect(later < first / 2, "memory that each round takes again was given back");
  return 0;
}
