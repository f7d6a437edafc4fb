/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ended_threads.c ROUNDS MOST: in each round 1,000 threads are alive at once, each with 24 blocks of up to 8 KB, and all
 * end. Tests that at most MOST MiB stay after the last round. Prints the resident bytes then. */
#include <pthread.h>

#include "observe.h"

enum { THREADS = 1000, BLOCKS = 24, MOST_BYTES = 8000, STACK_BYTES = 32 << 10 };

static pthread_barrier_t g_all;

static void *own_blocks(void *number) {
  uint32_t state = (uint32_t)(uintptr_t)number;
  void *block[BLOCKS];
  for (size_t i = 0; i < BLOCKS; i++) {
    const size_t bytes = 16 + work_next(&state) % MOST_BYTES;
    block[i] = memset(malloc(bytes), 1, bytes);
  }
  pthread_barrier_wait(&g_all);
  for (size_t i = 0; i < BLOCKS; i++) free(block[i]);
  return NULL;
}

static void run_round(size_t from) {
  static pthread_t thread[THREADS];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  for (size_t i = 0; i < THREADS; i++) {
    work_expect(pthread_create(&thread[i], &attributes, own_blocks, (void *)(from + i + 1)) == 0, "no thread");
  }
  pthread_barrier_wait(&g_all);
  for (size_t i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  pthread_attr_destroy(&attributes);
}

int main(int arguments, char **argument) {
  work_expect(arguments == 3, "a number of rounds, and MiB");
  const size_t rounds = strtoul(argument[1], NULL, 10), most = strtoul(argument[2], NULL, 10) * MIB;
  const size_t before = anonymous_bytes();
  pthread_barrier_init(&g_all, NULL, THREADS + 1);
  for (size_t i = 0; i < rounds; i++) run_round(i * THREADS);
  const size_t now = anonymous_bytes(), stayed = now - (before < now ? before : now);
  printf("%zu rounds of %d threads: %.1f MiB stay\n", rounds, THREADS, (double)stayed / MIB);
  work_expect(stayed <= most, "more stays");
  return 0;
}
