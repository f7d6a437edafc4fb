/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* thread_flood.c: 100,000 short-lived threads, eight at a time. Each uses every block layer; memory in use, resident
 * memory and thread contexts after the last thread must equal the figures after the first few thousand. */
#include <pthread.h>

#include "hakmem/hakmem.h"
#include "workload.h"

enum { BATCH = 8, WARM_BATCHES = 2000, BATCHES = 12500 };

static size_t resident_bytes(void) {
  size_t total = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  work_expect(file != NULL && fscanf(file, "%zu %zu", &total, &resident) == 2, "no /proc/self/statm");
  fclose(file);
  return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void *short_life(void *seed) {
  static const size_t sizes[] = {16, 48, 100, 500, 1000, 5000, 30000, 100000};
  void *held[sizeof sizes / sizeof sizes[0]];
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    held[i] = malloc(sizes[i]);
    memset(held[i], 1, sizes[i]);
  }
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) free(held[i]);
  return seed;
}

static void run_batches(int batches) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  for (int batch = 0; batch < batches; batch++) {
    pthread_t threads[BATCH];
    for (uintptr_t i = 0; i < BATCH; i++)
      work_expect(pthread_create(&threads[i], &small, short_life, (void *)((uintptr_t)batch * BATCH + i)) == 0,
                  "pthread_create");
    for (int i = 0; i < BATCH; i++) pthread_join(threads[i], NULL);
  }
  pthread_attr_destroy(&small);
}

static struct hak_stats stats_now(void) {
  struct hak_stats stats = {.version = HAK_STATS_VERSION, .size = sizeof stats};
  work_expect(hak_get_stats(&stats) == 0, "hak_get_stats");
  return stats;
}

static void report(const char *what, size_t before, size_t after, size_t slack) {
  printf("%s: %zu before, %zu after\n", what, before, after);
  work_expect(after <= before + slack, what);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  run_batches(WARM_BATCHES);
  const size_t resident = resident_bytes();
  const struct hak_stats before = stats_now();
  run_batches(BATCHES - WARM_BATCHES);
  const struct hak_stats after = stats_now();
  report("resident bytes", resident, resident_bytes(), 4u << 20);
  report("bytes in use", before.in_use, after.in_use, 0);
  report("thread contexts", before.threads, after.threads, 0);
  report("metadata bytes", before.metadata, after.metadata, 256u << 10);
  report("mapped bytes", before.mapped, after.mapped, 16u << 20); /* addresses for as many threads as happen to overlap */
  return 0;
}
