/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* costs.c: 64 MiB in blocks of 4 MiB, allocated, touched and freed every 300 ms, beside a second thread that rests.
 * Prints the least page faults of a round, without the first round. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "observe.h"

enum { BLOCKS = 16, ROUNDS = 6, PERIOD_MS = 300 };

static atomic_int g_over;

static void *rest(void *own) {
  free(memset(malloc(100), 1, 100));
  while (!atomic_load(&g_over)) rest_ms(1);
  return own;
}

static long faults_now(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

static long round_faults(void) {
  char *block[BLOCKS];
  const long before = faults_now();
  for (int i = 0; i < BLOCKS; i++) block[i] = memset(malloc(4 * MIB), i, 4 * MIB);
  for (int i = 0; i < BLOCKS; i++) free(block[i]);
  return faults_now() - before;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, rest, NULL);
  round_faults();
  long least = 1 << 30;
  for (int n = 1; n < ROUNDS; n++) {
    rest_ms(PERIOD_MS);
    const long faults = round_faults();
    if (faults < least) least = faults;
  }
  printf("%ld\n", least);
  atomic_store(&g_over, 1);
  return pthread_join(thread, NULL);
}
