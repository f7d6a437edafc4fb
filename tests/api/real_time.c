/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* real_time.c: the recipe of programs that may not fault in a loop: memory is held, locked or not, prefaulted, and then
 * reused.
 *
 *     real_time plain | mapped | locked | padded | threads | some | long [SIZE ...]
 *
 * what      mallopt(M_TRIM_THRESHOLD, -1) and (M_MMAP_MAX, 0); mapped: without M_MMAP_MAX; locked: mlockall, where
 *           allowed; padded: M_TOP_PAD, too; threads: beside a second thread; some: M_TRIM_THRESHOLD is 256 MiB, with
 *           two threads, which may cost tables' faults; long: over more than ten seconds, after which the library
 *           measures costs elsewhere. Then 100 MiB as one block and as many small ones, written to
 *           and freed; or only as blocks of SIZE bytes, of several sizes in turn. Then rounds of small, middle, large
 *           and growing blocks, with pauses if no SIZE is given. Prints "faults N", the sum over all rounds.
 * owner     Blocks are freed in the round of their allocation.
 * failure   Exit status 1: all rounds together faulted more often than MOST. 2: called wrongly, or a call failed.
 * not here  malloc_trim, which still trims: introspection_test.cpp.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
  MIB = 1 << 20,
  PREFAULT = 100 * MIB,
  SMALL = 4096,
  LEAST = 64, /* of the sizes */
  ROUNDS = 6,
  BLOCKS = 4096,
  SIZES = 8,
  MOST = 0,
  MOST_OF_TABLES = 512
};

static unsigned char *block[PREFAULT / LEAST];

static void must(int ok, const char *what) {
  if (ok) return;
  perror(what);
  exit(2);
}

static void *touched(void *p, size_t n) {
  must(p != NULL, "malloc");
  for (size_t at = 0; at < n; at += 4096) ((volatile char *)p)[at] = 1;
  return p;
}

static void *take(size_t n) { return touched(malloc(n), n); }

static long faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

/* The pages of this program's own table are not counted. */
static void prefault(const size_t *size, size_t sizes) {
  size_t n = 0;
  touched(block, sizeof block);
  for (size_t sum = 0; sum < PREFAULT; n++) {
    block[n] = take(size[n % sizes]);
    sum += size[n % sizes];
  }
  for (size_t i = 0; i < n; i++) free(block[i]);
}

static void prefault_as_told(char **argument, int count) {
  size_t size[SIZES] = {SMALL};
  if (count == 0) free(take(PREFAULT));
  for (int i = 0; i < count; i++) size[i] = strtoul(argument[i], NULL, 10);
  prefault(size, count == 0 ? 1 : (size_t)count);
}

static uint32_t next(uint32_t *seed) { return *seed = *seed * 1664525u + 1013904223u; }

/* n blocks of `least` to `least + more` bytes, freed in the order of allocation or in reverse. */
static void take_and_free(size_t n, size_t least, size_t more, uint32_t *seed) {
  for (size_t i = 0; i < n; i++) block[i] = take(least + (next(seed) >> 8) % more);
  int up = next(seed) >> 31;
  for (size_t i = 0; i < n; i++) free(block[up ? i : n - 1 - i]);
}

static void grow(void) {
  size_t n = 4096;
  char *p = take(n);
  for (; n < 8 * MIB; n += n / 2) p = touched(realloc(p, n + n / 2), n + n / 2);
  p = realloc(p, n / 4);
  free(touched(p, n / 4));
}

static void round_of_all(uint32_t *seed) {
  void *aligned = NULL;
  take_and_free(BLOCKS, 1, 1024, seed);
  take_and_free(BLOCKS / 16, 1024, 32 * 1024, seed);
  take_and_free(64, 32 * 1024, 256 * 1024, seed);
  take_and_free(8, 256 * 1024, 4 * MIB, seed);
  take_and_free(256, 16, 300 * 1024, seed);
  grow();
  free(touched(calloc(3, MIB), (size_t)3 * MIB));
  must(posix_memalign(&aligned, 2 * MIB, 5 * MIB) == 0, "posix_memalign");
  free(touched(aligned, (size_t)5 * MIB));
}

static pthread_mutex_t end = PTHREAD_MUTEX_INITIALIZER;

static void *live(void *unused) {
  free(take(1000));
  pthread_mutex_lock(&end);
  pthread_mutex_unlock(&end);
  return unused;
}

static int is_some(const char *how) { return strcmp(how, "some") == 0; }

static void hold(const char *how) {
  must(mallopt(M_TRIM_THRESHOLD, is_some(how) ? 256 * MIB : -1), "M_TRIM_THRESHOLD");
  if (strcmp(how, "mapped") != 0) must(mallopt(M_MMAP_MAX, 0), "M_MMAP_MAX");
  if (strcmp(how, "padded") == 0) must(mallopt(M_TOP_PAD, 16 * MIB), "M_TOP_PAD");
  if (strcmp(how, "locked") == 0 && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) perror("not locked");
}

static void pause_ms(long ms) {
  const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  nanosleep(&pause, NULL);
}

/* Memory that idles between rounds must stay, too. */
static long run(long pause) {
  uint32_t seed = 1;
  long sum = 0;
  pause_ms(1);
  for (int i = 0; i < ROUNDS; i++) {
    long before = faults();
    round_of_all(&seed);
    long more = faults() - before;
    sum += more;
    printf("round %d: %ld\n", i, more);
    pause_ms(pause);
  }
  return sum;
}

int main(int count, char **arguments) {
  static char output[4096];
  pthread_t thread;
  setvbuf(stdout, output, _IOFBF, sizeof output);
  if (count < 2 || count > 2 + SIZES) return 2;
  int threads = strcmp(arguments[1], "threads") == 0 || is_some(arguments[1]);
  hold(arguments[1]);
  printf("\n");
  pthread_mutex_lock(&end);
  if (threads) must(pthread_create(&thread, NULL, live, NULL) == 0, "pthread_create");
  prefault_as_told(arguments + 2, count - 2);
  long sum = run(strcmp(arguments[1], "long") == 0 ? 2500 : count == 2 ? 300 : 1);
  pthread_mutex_unlock(&end);
  if (threads) pthread_join(thread, NULL);
  printf("faults %ld\n", sum);
  return sum > (is_some(arguments[1]) ? MOST_OF_TABLES : MOST);
}
