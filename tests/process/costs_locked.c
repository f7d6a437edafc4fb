/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* costs_locked.c: from now on every mapping of the process is fetched at once and stays (mlockall), so that the cost of
 * pages cannot be measured. Free memory is kept as on a machine without measured costs: memory that is needed again
 * after a moment is not released at once. */
#include <sys/mman.h>

#include "observe.h"

enum { BLOCKS = 16, ROUNDS = 20 };

static void take_and_free(void) {
  char *block[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) block[i] = memset(malloc(2 * MIB), i, 2 * MIB);
  for (int i = 0; i < BLOCKS; i++) {
    for (size_t at = 0; at < 2 * MIB; at += 4096) work_expect(block[i][at] == i, "a block lost a byte");
    free(block[i]);
  }
}

int main(void) {
  work_expect(mlockall(MCL_FUTURE) == 0, "mlockall");
  take_and_free();
  const uint64_t before = counter_now("kernel_unmap");
  for (int n = 0; n < ROUNDS; n++) {
    rest_ms(20);
    take_and_free();
  }
  const uint64_t unmapped = counter_now("kernel_unmap") - before;
  for (uint32_t seed = 0; seed < 20; seed++) work(seed);
  printf("%d blocks were freed %d times: %llu calls of munmap\n", BLOCKS, ROUNDS, (unsigned long long)unmapped);
  work_expect(unmapped < BLOCKS * ROUNDS / 4, "what is wanted again goes");
  return 0;
}
