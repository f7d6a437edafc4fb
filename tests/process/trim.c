/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trim.c HOW: malloc_trim and hak_trim return true only if memory was released to the kernel.
 *   fresh     main never allocated
 *   twice     after a load of all sizes was freed: true, then false; and resident memory falls
 *   pad       of runs that lie apart, half stays as the pad says
 *   pad_of_one_run   the same with neighbours that merge into one run when free
 *   threads   memory of ended and idle threads is released too
 *   addresses a trim unmaps addresses as well, except a share, and the addresses serve again
 *   rest      a long rest of a process of several threads releases by itself
 */
#include <pthread.h>

#include "observe.h"

enum { BLOCKS = 20000, RUNS = 512, RUN_BYTES = 128 << 10 };

static void *g_block[BLOCKS];
static int (*g_trim)(size_t) = malloc_trim;

static int trim_by_hak(size_t pad) { return hak_trim(pad); }

static void expect_trim(size_t pad, int said, const char *what) { work_expect(g_trim(pad) == said, what); }

/* Allocates 40 MiB of small blocks, some runs and big blocks. Every tenth small block stays. */
static void *load(void *own) {
  uint32_t state = 5;
  for (size_t i = 0; i < BLOCKS; i++) {
    const size_t n = i % 1000 == 0 ? 300000 : i % 5001 == 1 ? 3 * MIB : 1 + work_next(&state) % 4000;
    g_block[i] = memset(malloc(n), 1, n);
  }
  for (size_t i = 0; i < BLOCKS; i++) {
    if (i / 100 % 10 != 3) free(g_block[i]);
  }
  return own;
}

static void expect_no_more(void) {
  for (int i = 0; i < 3; i++) expect_trim(0, 0, "trimmed though nothing is left to go");
}

static void fresh(void) {
  g_trim(0); /* releases memory of the process's start */
  expect_no_more();
  expect_trim(SIZE_MAX, 0, "trimmed in spite of an endless pad");
}

static void twice(void) {
  load(NULL);
  const size_t before = anonymous_bytes();
  expect_trim(0, 1, "much is free and nothing went");
  work_expect(anonymous_bytes() < before, "something went and as much is resident");
  expect_no_more();
  load(NULL);
  expect_trim(0, 1, "much is free again and nothing went");
  expect_no_more();
}

static void fill_runs(void) {
  for (size_t i = 0; i < RUNS; i++) g_block[i] = memset(malloc(RUN_BYTES), 1, RUN_BYTES);
}

static size_t dirty_bytes(void) {
  struct hak_stats stats = {.version = HAK_STATS_VERSION, .size = sizeof stats};
  work_expect(hak_get_stats(&stats) == 0, "hak_get_stats");
  return stats.span_dirty + stats.big_cached;
}

/* Frees each `step`-th run, and trims a part of the free runs. */
static void keep_half(size_t step) {
  fill_runs();
  for (size_t i = 0; i < RUNS; i += step) free(g_block[i]);
  const size_t kept = dirty_bytes(), wanted = kept / 2;
  work_expect(kept >= MIB, "nothing is kept free");
  expect_trim(wanted, 1, "more than the pad is free and nothing went");
  const size_t left = dirty_bytes();
  printf("kept %zu KiB, asked to keep %zu KiB, keeps %zu KiB\n", kept >> 10, wanted >> 10, left >> 10);
  work_expect(left <= wanted && left >= wanted / 2, "another amount than the pad was kept");
  expect_trim(wanted, 0, "trimmed though no more than the pad is left");
  expect_trim(0, 1, "the pad did not go in the end");
  expect_no_more();
}

static void pad(void) { keep_half(2); }
static void pad_of_one_run(void) { keep_half(1); }

static void threads(void) {
  pthread_t thread;
  work_expect(pthread_create(&thread, NULL, load, NULL) == 0, "pthread_create");
  pthread_join(thread, NULL);
  expect_trim(0, 1, "a thread left much behind and nothing went");
  expect_no_more();
}

/* Bytes that overcommit and RLIMIT_DATA count. */
static size_t data_bytes(void) { return proc_number("/proc/self/status", "VmData:", 10) << 10; }

static void use_and_free(void) {
  enum { N = 14000, BYTES = 40000 };
  for (size_t i = 0; i < N; i++) g_block[i] = memset(malloc(BYTES), 1, BYTES);
  for (size_t i = 0; i < N; i++) free(g_block[i]);
}

static void addresses(void) {
  const size_t before = data_bytes();
  for (int round = 0; round < 2; round++) {
    use_and_free();
    work_expect(data_bytes() > before + 500 * MIB, "no addresses were taken");
    g_trim(0);
    const size_t after = data_bytes();
    printf("VmData %zu MiB before, %zu MiB after\n", before / MIB, after / MIB);
    work_expect(after <= before + before / 8 + 4 * MIB, "addresses were kept");
  }
}

static void *use_and_sleep(void *own) {
  use_and_free();
  for (;;) rest_ms(PATIENCE_MS);
  return own;
}

static void rest(void) {
  pthread_t thread;
  work_expect(pthread_create(&thread, NULL, use_and_sleep, NULL) == 0, "pthread_create");
  while (data_bytes() < 500 * MIB) rest_ms(LOOK_EVERY_MS);
  for (uint64_t end = now_ms() + 3 * PATIENCE_MS; data_bytes() > 40 * MIB && now_ms() < end;) rest_ms(LOOK_EVERY_MS);
  work_expect(data_bytes() <= 40 * MIB, "addresses were kept at rest");
}

static const struct {
  const char *name;
  void (*run)(void);
} ways[] = {{"fresh", fresh}, {"twice", twice}, {"pad", pad}, {"pad_of_one_run", pad_of_one_run}, {"threads", threads},
            {"addresses", addresses}, {"rest", rest}};

int main(int count, char **arguments) {
  work_expect(count == 3, "usage: trim HOW malloc_trim|hak_trim");
  setvbuf(stdout, NULL, _IONBF, 0);
  if (strcmp(arguments[2], "hak_trim") == 0) g_trim = trim_by_hak;
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    if (strcmp(arguments[1], ways[i].name) == 0) ways[i].run();
  }
  puts("done");
  return 0;
}
