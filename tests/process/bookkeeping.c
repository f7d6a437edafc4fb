/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bookkeeping.c HOW: HAKMEM's figures of its memory are true after kernel calls failed, or after a fork.
 *   mappings   the kernel gives no more mappings and splits none: big blocks come from runs, freed memory is released,
 *              a trim's answer is true, and the background thread does not try for ever
 *   zeroed     the same, without and with all pages locked: calloc's memory is zero
 *   stuck      the same, and nothing may be emptied: no thread tries for ever
 *   unborn     a daemon that forked before its first block has a background thread, as any other program
 *   buried     a thread that is not the first forks out of many, and its child again: memory of the lost threads is
 *              released
 *   claims     under HAKMEM_HARD_LIMIT=256M: children of forks during another thread's mmap have the full limit
 *   refused    with HAKMEM_CGROUP_DIR a writable folder: a request for 64 TiB does not make the library read limits */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "observe.h"

enum { BIGS = 100, BIG = 2 << 20 };

/* ---- mappings ---- */

static char *g_big[BIGS];

static void take_bigs(size_t bytes, int step) {
  for (int i = 0; i < BIGS; i += step) {
    g_big[i] = malloc(bytes);
    work_expect(g_big[i] != NULL, "no memory for a big block");
    memset(g_big[i], i, bytes);
  }
}

static void free_bigs(int step) {
  for (int i = 0; i < BIGS; i += step) free(g_big[i]);
}

/* Neighbours with different protection are separate mappings. */
static void use_up_mappings(void) {
  for (int n = 0;; n++) {
    const int rights = n % 2 != 0 ? PROT_READ : PROT_READ | PROT_WRITE;
    if (mmap(NULL, 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) return;
  }
}

static atomic_int g_ready, g_over;

static void *allocate_and_wait(void *own) {
  free(malloc(100));
  atomic_store(&g_ready, 1);
  while (!atomic_load(&g_over)) rest_ms(1);
  return own;
}

static void mappings(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, allocate_and_wait, NULL);
  while (!atomic_load(&g_ready)) rest_ms(1);
  take_bigs(BIG, 1);
  use_up_mappings();
  const size_t before = anonymous_bytes();
  free_bigs(2); /* every second block: each hole between two live blocks would add a mapping */
  malloc_trim(0);
  work_expect(anonymous_bytes() < before - 80 * MIB, "pages of mappings that may not be split did not go");
  for (int i = 0; i < 3; i++) work_expect(malloc_trim(0) == 0, "a trim says that memory went, and none did");
  free_much();
  work_expect(comes_true(no_helper), "the helper thread goes on for ever");
  take_bigs(BIG + 12345, 2);
  for (int i = 1; i < BIGS; i += 2) work_expect(g_big[i][BIG / 2] == i, "a block lost a byte");
  free_bigs(1);
  atomic_store(&g_over, 1);
  pthread_join(thread, NULL);
}

/* ---- zeroed ---- */

enum { SLOTS = 40, REPLACED = 3000 };

static void expect_zero(const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i += i + 64 < n ? 61 : 1) work_expect(p[i] == 0, "calloc's memory is not zero");
}

/* Sizes of runs and of big blocks; freed memory was fully dirty. */
static void replace_dirty(void) {
  static struct work_block blocks[SLOTS];
  uint32_t state = 5;
  for (int i = 0; i < REPLACED; i++) {
    struct work_block *block = &blocks[work_next(&state) % SLOTS];
    free(block->p);
    block->n = 1 + work_next(&state) % (work_next(&state) % 4 == 0 ? 3000000 : 200000);
    block->p = calloc(1, block->n);
    work_expect(block->p != NULL, "no memory");
    expect_zero(block->p, block->n);
    memset(block->p, 0xff, block->n);
  }
  for (int i = 0; i < SLOTS; i++) free(blocks[i].p), blocks[i].p = NULL;
}

static void zeroed(void) {
  work(1);
  take_bigs(BIG, 1);
  use_up_mappings();
  free_bigs(2);
  replace_dirty();
  if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0) replace_dirty(); /* refused to most users */
}

/* ---- stuck ---- */

/* Memory that can neither be unmapped nor emptied is kept, and not tried for ever. */
static void stuck(void) {
  enum { MANY = 240 };
  static void *held[MANY];
  work(1);
  for (int i = 0; i < MANY; i++) held[i] = memset(malloc(MIB), 1, MIB);
  if (mlockall(MCL_CURRENT) != 0) return; /* refused to most users */
  use_up_mappings();
  for (int i = 0; i < MANY; i += 2) free(held[i]);
  alarm(60);
  malloc_trim(0);
  for (int i = 1; i < MANY; i += 2) free(held[i]);
  malloc_trim(0);
}

/* ---- unborn ---- */

static void unborn(void) {
  pthread_t thread;
  const pid_t child = fork();
  int status = 0;
  if (child != 0) {
    work_expect(waitpid(child, &status, 0) == child && status == 0, "the daemon failed");
    return;
  }
  setsid();
  work_expect(pthread_create(&thread, NULL, allocate_and_wait, NULL) == 0, "pthread_create");
  while (!atomic_load(&g_ready)) rest_ms(1);
  free_much();
  work_expect(comes_true(one_helper), "a daemon's memory stays: it has no helper thread");
  _exit(0);
}

/* ---- buried ---- */

enum { OTHERS = 200, OWN_BLOCKS = 1000, OWN_BLOCK = 300 };

/* Nine of ten blocks are free at the fork, in magazines and slabs of a thread that the child does not have. */
static void *allocate_free_and_wait(void *own) {
  void *held[OWN_BLOCKS];
  for (int i = 0; i < OWN_BLOCKS; i++) held[i] = memset(malloc(OWN_BLOCK), 1, OWN_BLOCK);
  for (int i = 0; i < OWN_BLOCKS; i++) {
    if (i % 10 != 0) free(held[i]);
  }
  atomic_fetch_add(&g_ready, 1);
  while (!atomic_load(&g_over)) rest_ms(10);
  return own;
}

static void expect_no_other_threads(void) {
  struct hak_stats stats = {.version = HAK_STATS_VERSION, .size = sizeof stats};
  for (uint32_t seed = 0; seed < 20; seed++) work(seed);
  malloc_trim(0);
  work_expect(hak_get_stats(&stats) == 0, "hak_get_stats");
  work_expect(stats.threads == 1, "a child counts threads that it does not have");
}

static void fork_and(void (*body)(void)) {
  const pid_t child = fork();
  int status = 0;
  if (child == 0) {
    body();
    _exit(0);
  }
  work_expect(waitpid(child, &status, 0) == child && status == 0, "a child failed");
}

static void fork_again(void) {
  free(malloc(100));
  fork_and(expect_no_other_threads);
  expect_no_other_threads();
}

static void *fork_twice(void *own) {
  fork_and(fork_again);
  return own;
}

static void buried(void) {
  pthread_t thread[OTHERS], forker;
  for (int i = 0; i < OTHERS; i++) {
    work_expect(pthread_create(&thread[i], NULL, allocate_free_and_wait, NULL) == 0, "pthread_create");
  }
  while (atomic_load(&g_ready) != OTHERS) rest_ms(1);
  for (int i = 0; i < 20; i++) {
    work_expect(pthread_create(&forker, NULL, fork_twice, NULL) == 0, "pthread_create");
    pthread_join(forker, NULL);
  }
  atomic_store(&g_over, 1);
  for (int i = 0; i < OTHERS; i++) pthread_join(thread[i], NULL);
}

/* ---- claims ---- */

enum { CHILDREN = 1500, LIMIT_MIB = 256, WORKER_MIB = 100, SPARE_MIB = 4 };

static void *map_and_unmap(void *own) {
  while (!atomic_load(&g_over)) free(malloc(WORKER_MIB * MIB));
  return own;
}

/* The remaining room can be allocated: only live, cached and HAKMEM's own bytes count. */
static int child_has_its_room(void) {
  struct hak_stats stats = {.version = HAK_STATS_VERSION, .size = sizeof stats};
  free(malloc(100));
  work_expect(hak_get_stats(&stats) == 0, "hak_get_stats");
  const size_t room = LIMIT_MIB * MIB - stats.mapped - SPARE_MIB * MIB;
  return malloc(room) != NULL;
}

static void claims(void) {
  pthread_t thread;
  int refused = 0;
  pthread_create(&thread, NULL, map_and_unmap, NULL);
  for (int n = 0; n < CHILDREN; n++) {
    const pid_t child = fork();
    work_expect(child >= 0, "fork");
    if (child == 0) _exit(child_has_its_room() ? 0 : 7);
    int status = 1;
    work_expect(waitpid(child, &status, 0) == child, "waitpid");
    work_expect(status == 0 || WEXITSTATUS(status) == 7, "a child died");
    refused += status != 0;
  }
  atomic_store(&g_over, 1);
  pthread_join(thread, NULL);
  if (refused != 0) dprintf(STDERR_FILENO, "%d of %d children had less room\n", refused, CHILDREN);
  work_expect(refused == 0, "a child believes what another thread claimed before the fork");
}

/* ---- refused ---- */

static void write_limit(const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/memory.max", getenv("HAKMEM_CGROUP_DIR"));
  FILE *file = fopen(path, "w");
  work_expect(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "write a limit");
}

static void refused(void) {
  take_bigs(BIG, 1);
  write_limit("this is read by whoever looks at limits\n");
  for (int i = 0; i < 10; i++) {
    work_expect(malloc((size_t)1 << 46) == NULL && errno == ENOMEM, "64 TiB");
    free(malloc(3 * MIB));
  }
  free_bigs(1);
}

int main(int count, char **arguments) {
  const char *how = count == 2 ? arguments[1] : "";
  if (strcmp(how, "mappings") == 0) mappings();
  else if (strcmp(how, "zeroed") == 0) zeroed();
  else if (strcmp(how, "stuck") == 0) stuck();
  else if (strcmp(how, "unborn") == 0) unborn();
  else if (strcmp(how, "buried") == 0) buried();
  else if (strcmp(how, "claims") == 0) claims();
  else if (strcmp(how, "refused") == 0) refused();
  else work_failed("usage: bookkeeping mappings|zeroed|stuck|unborn|buried|claims|refused");
  puts("done");
  return 0;
}
