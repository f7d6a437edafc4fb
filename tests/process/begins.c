/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* begins.c [load]: what a process begins with, of what an earlier process learnt. Prints the usable bytes of its first
 * block of 5,136 B, and the refills of a magazine in 20 bursts of 400 blocks of 1 KiB, after 20 bursts. With `load`,
 * many blocks of 5,136 B follow, each second one of which is freed, and many bursts: what can be learnt from. */
#include "observe.h"

enum { PEAK = 5136, BLOCK = 1024, DEEP = 400, BURSTS = 20, LOAD_BURSTS = 20000, PEAK_BLOCKS = 30000 };

static void *g_block[PEAK_BLOCKS];

static void burst(int bursts) {
  for (int n = 0; n < bursts; n++) {
    for (int i = 0; i < DEEP; i++) g_block[i] = malloc(BLOCK);
    for (int i = 0; i < DEEP; i++) free(g_block[i]);
  }
}

static void take_peak(void) {
  for (int i = 0; i < PEAK_BLOCKS; i++) {
    g_block[i] = malloc(PEAK);
    if (i % 2 != 0) free(g_block[i]);
  }
  for (int i = 0; i < PEAK_BLOCKS; i += 2) free(g_block[i]);
}

static uint64_t refills(void) { return counter_now("alloc_depot") + counter_now("alloc_slab"); }

int main(int count, char **arguments) {
  (void)arguments;
  void *volatile first = malloc(PEAK);
  const size_t room = malloc_usable_size(first);
  free(first);
  burst(BURSTS);
  const uint64_t before = refills();
  burst(BURSTS);
  printf("%zu %llu\n", room, (unsigned long long)(refills() - before));
  fflush(stdout);
  if (count == 1) return 0;
  hak_set("count_calls", "off");
  take_peak();
  burst(LOAD_BURSTS);
  return 0;
}
