/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* limited.c HOW: a program under limits on its memory.
 *   hard           HAKMEM_HARD_LIMIT=64M: refused with ENOMEM, goes on, gets as much again, block sizes of all kinds
 *   hard_by_call   the same, set by hak_set_limit, and lifted in the end
 *   soft           hak_set_limit with a soft limit of 32 MiB: free memory is released, no allocation fails
 *   below_use      limits below the memory in use: one line on stderr for each
 *   settings       arguments and answers of hak_set_limit, hak_set and hak_get
 *   hard_threads   four threads reach the hard limit together
 *   hard_resized   near the hard limit: realloc of what malloc serves
 *   hard_race      four threads ask at once, and there is room for three
 *   plain          no limit of its own: takes 48 MiB three times
 *   late           HAKMEM_CGROUP_DIR: the group gets a limit while a background thread serves, and much memory is free
 *   fragments      RLIMIT_AS: full of small blocks, then big ones, and the other way round
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "observe.h"

#define HARD_BYTES (64 * MIB)
#define SOFT_BYTES (32 * MIB)
#define OWN_BYTES (4 * MIB) /* HAKMEM's tables, and the program's memory from before */

static const size_t sizes[] = {16, 100, 1000, 5000, 30000, 100000, 700000, 5000000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* ---- blocks linked through their first words ---- */

static size_t take_all(size_t n, void **list, size_t most) {
  size_t served = 0;
  errno = 0;
  for (void **p; served < most && (p = malloc(n)) != NULL; served += n) {
    memset(p, 0x5A, n);
    *p = *list;
    *list = p;
  }
  work_expect(served >= most || errno == ENOMEM, "errno is not ENOMEM");
  return served;
}

static void free_all(void *list) {
  while (list != NULL) {
    void *next = *(void **)list;
    free(list);
    list = next;
  }
}

/* ---- the hard limit ---- */

static size_t g_base, g_peak;

static void fill_to_the_limit(size_t n) {
  void *list = NULL;
  const size_t served = take_all(n, &list, SIZE_MAX), resident = anonymous_bytes();
  if (resident > g_peak) g_peak = resident;
  work_expect(resident <= g_base + HARD_BYTES + OWN_BYTES, "more memory than the hard limit");
  work_expect(served >= HARD_BYTES * 3 / 4, "refused too early");
  work_expect(malloc(HARD_BYTES) == NULL && errno == ENOMEM, "a block as large as the limit");
  free_all(list);
}

static void fill_with_all_sizes(void) {
  for (size_t i = 0; i < SIZES; i++) fill_to_the_limit(sizes[i]);
  for (size_t i = SIZES; i-- > 0;) fill_to_the_limit(sizes[i]);
  for (uint32_t seed = 0; seed < 20; seed++) work(seed);
  printf("peak %zu MiB above what was there\n", (g_peak - g_base) / MIB);
}

static void hard(void) {
  g_base = anonymous_bytes();
  fill_with_all_sizes();
}

static void hard_by_call(void) {
  g_base = anonymous_bytes();
  work_expect(hak_set_limit(0, HARD_BYTES) == 0, "hak_set_limit");
  fill_with_all_sizes();
  work_expect(hak_set_limit(0, 0) == 0, "hak_set_limit");
  void *p = malloc(2 * HARD_BYTES);
  work_expect(p != NULL, "refused though the limit was lifted");
  free(p);
}

/* realloc and calloc obey the limit as malloc does, and a refused block is unchanged. */
static void hard_for_others(void) {
  work_expect(hak_set_limit(0, HARD_BYTES) == 0, "hak_set_limit");
  for (size_t i = 0; i < SIZES; i++) {
    unsigned char *p = malloc(sizes[i]);
    memset(p, 0x77, sizes[i]);
    work_expect(realloc(p, 2 * HARD_BYTES) == NULL && errno == ENOMEM, "realloc above the limit");
    work_expect(p[0] == 0x77 && p[sizes[i] - 1] == 0x77, "a refused realloc changed the block");
    errno = 0;
    work_expect(calloc(2, HARD_BYTES) == NULL && errno == ENOMEM, "calloc above the limit");
    errno = 0;
    work_expect(aligned_alloc(1 << 21, 2 * HARD_BYTES) == NULL && errno == ENOMEM, "aligned_alloc above the limit");
    free(p);
  }
}

enum { THREADS = 4 };

static pthread_barrier_t g_barrier;

/* Each thread takes blocks of a different size; the limit holds for the sum, also while the threads race for the last
 * bytes. */
static void *race_to_the_limit(void *own) {
  static const size_t own_size[THREADS] = {100, 30000, 200000, 2000000};
  for (int round = 0; round < 5; round++) {
    void *list = NULL;
    pthread_barrier_wait(&g_barrier);
    take_all(own_size[(uintptr_t)own], &list, SIZE_MAX);
    pthread_barrier_wait(&g_barrier);
    work_expect(anonymous_bytes() <= g_base + HARD_BYTES + 2 * OWN_BYTES, "more memory than the hard limit");
    pthread_barrier_wait(&g_barrier);
    free_all(list);
  }
  return NULL;
}

static void run_threads(void *(*run)(void *)) {
  pthread_t threads[THREADS];
  g_base = anonymous_bytes();
  pthread_barrier_init(&g_barrier, NULL, THREADS);
  work_expect(hak_set_limit(0, HARD_BYTES) == 0, "hak_set_limit");
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, run, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  fill_to_the_limit(1000);
}

static void hard_threads(void) { run_threads(race_to_the_limit); }

/* Blocks of pages, to which realloc gives an eighth of room where it can. */
static void hard_resized(void) {
  enum { HAVE = 280000, WANTED = 377000, STEP = 60000, TIMES = 9 };
  void *list = NULL;
  work_expect(hak_set_limit(0, HARD_BYTES) == 0, "hak_set_limit");
  void *p = malloc(HAVE);
  int served = 0;
  for (take_all(STEP, &list, SIZE_MAX); list != NULL && served < TIMES;) {
    void **first = list;
    list = *first;
    free(first);
    void *q = malloc(WANTED);
    if (q == NULL) continue;
    free(q);
    served++;
    q = realloc(p, WANTED);
    work_expect(q != NULL, "realloc fails where malloc does not");
    free(q);
    p = malloc(HAVE);
  }
  work_expect(served == TIMES, "malloc was not served");
  free_all(list);
  free(p);
}

/* Room for three of four blocks that are requested at the same moment. */
static atomic_int g_served;

static void *race_for_a_block(void *own) {
  for (int round = 0; round < 3000; round++) {
    pthread_barrier_wait(&g_barrier);
    void *p = malloc(HARD_BYTES / 3 - MIB);
    if (p != NULL) atomic_fetch_add(&g_served, 1);
    pthread_barrier_wait(&g_barrier);
    work_expect(atomic_load(&g_served) < THREADS, "four blocks where the hard limit has room for three");
    pthread_barrier_wait(&g_barrier);
    free(p);
    atomic_store(&g_served, 0);
  }
  return own;
}

static void hard_race(void) { run_threads(race_for_a_block); }

/* ---- the soft limit ---- */

static void soft(void) {
  void *list = NULL, *rest = NULL;
  work_expect(hak_set_limit(SOFT_BYTES, 0) == 0, "hak_set_limit");
  const size_t base = anonymous_bytes();
  work_expect(take_all(3000, &rest, 4 * MIB) >= 4 * MIB, "refused under a soft limit");
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < SIZES; i++) {
      work_expect(take_all(sizes[i], &list, 2 * SOFT_BYTES) >= 2 * SOFT_BYTES, "refused under a soft limit");
      free_all(list);
      list = NULL;
    }
  }
  take_all(1000, &list, MIB);
  const size_t resident = anonymous_bytes() - base;
  printf("%zu KiB with 5 MiB live\n", resident >> 10);
  work_expect(resident <= SOFT_BYTES, "more is resident than the soft limit though little lives");
  free_all(list);
  free_all(rest);
}

static void below_use(void) {
  void *list = NULL;
  take_all(1000, &list, 48 * MIB);
  for (int i = 0; i < 3; i++) {
    work_expect(hak_set_limit(MIB, 0) == 0, "hak_set_limit");
    work_expect(hak_set_limit(0, 2 * MIB) == 0, "hak_set_limit");
    work_expect(malloc(4 * MIB) == NULL && errno == ENOMEM, "a block above the limit");
  }
  free_all(list);
  list = NULL;
  work_expect(take_all(1000, &list, MIB) >= MIB, "refused though there is room again");
  free_all(list);
}

static void plain(void) {
  for (int round = 0; round < 3; round++) {
    void *list = NULL;
    work_expect(take_all(1000, &list, 48 * MIB) >= 48 * MIB, "refused");
    free_all(list);
  }
}

/* ---- a limit that comes late ---- */

static void write_to_group(const char *name, size_t bytes) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", getenv("HAKMEM_CGROUP_DIR"), name);
  FILE *file = fopen(path, "w");
  work_expect(file != NULL && fprintf(file, "%zu\n", bytes) > 0 && fclose(file) == 0, path);
}

static void *wait_for_the_end(void *own) {
  pthread_barrier_wait(&g_barrier);
  return own;
}

/* The program takes no more than before: only the group's files tell that memory is short now. */
static void late(void) {
  enum { SECONDS = 3, PER_SECOND = 100 };
  void *list = NULL, *last = NULL;
  pthread_t thread;
  pthread_barrier_init(&g_barrier, NULL, 2);
  pthread_create(&thread, NULL, wait_for_the_end, NULL);
  take_all(40000, &list, 96 * MIB);
  free_all(list);
  work_expect(counter_now("background_starts") != 0, "no background thread");
  const size_t before = anonymous_bytes();
  write_to_group("memory.current", before);
  write_to_group("memory.max", before + MIB);
  for (int i = 0; i < SECONDS * PER_SECOND; i++) {
    last = NULL;
    take_all(sizes[i % SIZES], &last, 8 * MIB);
    free_all(last);
    usleep(1000000 / PER_SECOND);
  }
  const size_t after = anonymous_bytes();
  printf("%zu MiB before the limit, %zu MiB after\n", before / MIB, after / MIB);
  work_expect(before > 64 * MIB, "nothing was kept");
  work_expect(after < before / 4, "free memory stays under a limit");
  pthread_barrier_wait(&g_barrier);
  pthread_join(thread, NULL);
}

/* ---- settings ---- */

static void expect_setting(const char *name, const char *value) {
  char text[64] = "?";
  work_expect(hak_get(name, text, sizeof text) == 0 && strcmp(text, value) == 0, name);
}

static void settings(void) {
  work_expect(hak_set_limit(HARD_BYTES, SOFT_BYTES) == EINVAL, "a hard limit below the soft one");
  work_expect(hak_set_limit(SIZE_MAX, 0) == EINVAL && hak_set_limit(0, SIZE_MAX) == EINVAL, "limits too large");
  work_expect(hak_set_limit(((size_t)1 << 47) + 1, 0) == EINVAL, "a limit one too large");
  expect_setting("soft_limit", "0");
  expect_setting("hard_limit", "0");
  work_expect(hak_set_limit(SOFT_BYTES, HARD_BYTES) == 0 && hak_set_limit(SOFT_BYTES, SOFT_BYTES) == 0, "good limits");
  work_expect(hak_set_limit(HARD_BYTES, SOFT_BYTES) == EINVAL, "a hard limit below the soft one");
  expect_setting("soft_limit", "32M");
  expect_setting("hard_limit", "32M");
  work_expect(hak_set("soft_limit", "24M") == 0 && hak_set("soft_limit", "x") == EINVAL, "hak_set of soft_limit");
  work_expect(hak_set("hard_limit", "-1") == EINVAL && hak_set("hard_limit", "1P") == EINVAL, "hak_set of hard_limit");
  expect_setting("soft_limit", "24M");
  static const char *const prices[] = {"speed", "lean", "balanced", "0", "1", "12345"};
  for (size_t i = 0; i < sizeof prices / sizeof prices[0]; i++) {
    work_expect(hak_set("price", prices[i]) == 0, "hak_set of price");
    expect_setting("price", prices[i]);
  }
  work_expect(hak_set("price", "640000") == 0, "hak_set of price");
  expect_setting("price", "balanced");
  work_expect(hak_set("price", "cheap") == EINVAL && hak_set("price", "1000000000001") == EINVAL, "a wrong price");
}

/* ---- the address space ---- */

static int count_mappings(void) {
  static char text[1 << 20];
  int lines = 0;
  read_proc("/proc/self/maps", text, sizeof text);
  for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) lines++;
  return lines;
}

enum { LIMIT_MIB = 256 };

/* Fills the remaining space with blocks of `first`, frees these blocks, and repeats with blocks of `then`. */
static void fill_then(size_t first, size_t then) {
  void *list = NULL;
  const size_t one = take_all(first, &list, SIZE_MAX);
  free_all(list);
  list = NULL;
  const size_t two = take_all(then, &list, SIZE_MAX);
  free_all(list);
  printf("%zu B: %zu MiB, then %zu B: %zu MiB; %d mappings\n", first, one / MIB, then, two / MIB, count_mappings());
  work_expect(two >= one * 7 / 8, "what was free was not to be had");
}

static void fragments(void) {
  struct rlimit limit = {LIMIT_MIB * MIB, LIMIT_MIB * MIB};
  work_expect(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
  const int before = count_mappings();
  fill_then(1000, 20 * MIB);
  work_expect(counter_now("rescues") != 0, "nothing was rescued");
  fill_then(20 * MIB, 1000);
  fill_then(16, 128 << 10);
  fill_then(3 * MIB, 30000);
  fill_then(30000, 24 * MIB);
  work_expect(count_mappings() < before + 200, "the address space is in too many pieces");
}

/* Small blocks survive everywhere: a gap of 1 MiB or more between survivors can still serve one block. */
static void survivors(void) {
  struct rlimit limit = {LIMIT_MIB * MIB, LIMIT_MIB * MIB};
  work_expect(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
  void *list = NULL, *kept = NULL;
  const int before = count_mappings();
  take_all(1000, &list, SIZE_MAX);
  for (size_t n = 0; list != NULL; n++) {
    void **p = list;
    list = *p;
    if (n % 16384 == 0) *p = kept, kept = p;
    else free(p);
  }
  const size_t served = take_all(2 * MIB, &list, SIZE_MAX);
  printf("%zu MiB in blocks of 2 MiB between survivors, %d mappings\n", served / MIB, count_mappings());
  work_expect(served >= LIMIT_MIB / 2 * MIB, "what lies between survivors was not to be had");
  work_expect(count_mappings() < before + 400, "the address space is in too many pieces");
  free_all(list);
  free_all(kept);
}

static const struct {
  const char *name;
  void (*run)(void);
} ways[] = {{"hard", hard},           {"hard_by_call", hard_by_call}, {"hard_for_others", hard_for_others},
            {"hard_threads", hard_threads}, {"hard_race", hard_race}, {"hard_resized", hard_resized},
            {"soft", soft}, {"below_use", below_use}, {"plain", plain}, {"late", late},
            {"settings", settings}, {"fragments", fragments}, {"survivors", survivors}};

int main(int count, char **arguments) {
  work_expect(count == 2, "usage: limited HOW");
  setvbuf(stdout, NULL, _IONBF, 0);
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    if (strcmp(arguments[1], ways[i].name) == 0) ways[i].run();
  }
  puts("done");
  return 0;
}
