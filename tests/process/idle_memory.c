/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* idle_memory.c LOAD THREADS WHAT: fills 200 MiB, frees 19 of 20 blocks and idles. Tests that memory is released.
 *   LOAD     mixed: blocks of 16 B to 192 KiB, neighbours survive together; small: the same up to 1 KiB;
 *            holes: blocks of a page, each twentieth survives
 *   THREADS  number of threads that share the work, beside the main thread; 0: the main thread works alone
 *   WHAT     falls: the process comes near its floor in the end; stays: resident memory does not fall in two seconds;
 *            child: as falls, in a fork's child that starts threads itself;
 *            at_once: after the last free no more stays than a program without background thread may keep
 * The floor: resident before the load, plus the pages of the survivors. Prints the measured figures. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "observe.h"

enum { BLOCKS = 1 << 22, SLOT_BITS = 19, MOST_THREADS = 4 };
enum { TOGETHER = 64, KEPT_OF = 20, TICK_MS = 64, WATCH_MS = 2000 };

#define LOAD_BYTES (200 * MIB)
#define SPARE_BYTES (4 * MIB) /* magazines, HAKMEM's own tables, stacks */
#define KEPT_BYTES (8 * MIB)  /* runs and big blocks that may stay without rent */
#define SLACK_BYTES MIB       /* empty pages in slabs, besides one tenth of the live bytes */
/* During a sweep of the heap 256 KiB may be freed for each 4 MiB swept. */
#define LAG_BYTES (LOAD_BYTES / 16)

struct part {
  char **first;
  size_t capacity, used;
  uint32_t seed;
  pthread_t thread;
};

static char *g_block[BLOCKS];
static uint32_t g_bytes[BLOCKS];
static uintptr_t g_page[1 << SLOT_BITS];
static struct part g_part[MOST_THREADS];
static int g_threads, g_parts;
static const char *g_load;
static atomic_int g_filled, g_emptied, g_may_free, g_may_end;

static size_t size_of_next(uint32_t *state) {
  const uint32_t dice = work_next(state) % 256;
  if (strcmp(g_load, "holes") == 0) return page_bytes();
  if (dice < 200 || strcmp(g_load, "small") == 0) return 16 + work_next(state) % 1008;
  if (dice < 255) return 1024 + work_next(state) % (31 << 10);
  return (32 << 10) + work_next(state) % (160 << 10);
}

static int survives(size_t i) {
  return strcmp(g_load, "holes") == 0 ? i % KEPT_OF == 0 : i / TOGETHER % KEPT_OF == 0;
}

/* ---- the load ---- */

static void fill(struct part *part) {
  const size_t bytes = LOAD_BYTES / (size_t)g_parts, at = (size_t)(part->first - g_block);
  for (size_t taken = 0, n; taken < bytes; taken += n) {
    work_expect(part->used < part->capacity, "too many blocks");
    n = size_of_next(&part->seed);
    char *p = malloc(n);
    work_expect(p != NULL, "no memory");
    g_bytes[at + part->used] = (uint32_t)n;
    part->first[part->used++] = memset(p, 1, n);
  }
}

static void empty(struct part *part) {
  for (size_t i = 0; i < part->used; i++) {
    if (survives(i)) continue;
    free(part->first[i]);
    part->first[i] = NULL;
  }
}

static void wait_for(atomic_int *cell, int value) {
  while (atomic_load(cell) < value) rest_ms(1);
}

static void *do_part(void *own) {
  fill(own);
  atomic_fetch_add(&g_filled, 1);
  wait_for(&g_may_free, 1);
  empty(own);
  atomic_fetch_add(&g_emptied, 1);
  wait_for(&g_may_end, 1);
  return NULL;
}

/* ---- the floor ---- */

static size_t live_pages_bytes(void) {
  size_t pages = 0;
  for (size_t i = 0; i < BLOCKS; i++) {
    if (g_block[i] != NULL) pages += note_pages(g_page, SLOT_BITS, g_block[i], g_bytes[i]);
  }
  return pages * page_bytes();
}

/* ---- measured ---- */

static int falls_to(size_t bytes) {
  const uint64_t start = now_ms();
  while (anonymous_bytes() > bytes && now_ms() - start < PATIENCE_MS) rest_ms(LOOK_EVERY_MS);
  printf(" after %llu ms", (unsigned long long)(now_ms() - start));
  return anonymous_bytes() <= bytes;
}

static int stays_above(size_t bytes) {
  for (uint64_t start = now_ms(); now_ms() - start < WATCH_MS;) {
    if (anonymous_bytes() < bytes) return 0;
    rest_ms(LOOK_EVERY_MS);
  }
  return 1;
}

static int is_as_said(const char *what, size_t peak, size_t after, size_t floor) {
  if (strcmp(what, "stays") == 0) return stays_above(peak - peak / 4);
  if (strcmp(what, "at_once") == 0) return after <= floor + KEPT_BYTES + SLACK_BYTES + LAG_BYTES;
  return falls_to(floor);
}

static void start_parts(void) {
  for (int i = 0; i < g_parts; i++) {
    const size_t capacity = BLOCKS / (size_t)g_parts;
    g_part[i] = (struct part){.first = g_block + (size_t)i * capacity, .capacity = capacity, .seed = (uint32_t)i + 1};
    if (g_threads != 0) pthread_create(&g_part[i].thread, NULL, do_part, &g_part[i]);
  }
}

static void load(size_t *peak) {
  start_parts();
  if (g_threads == 0) fill(&g_part[0]);
  else wait_for(&g_filled, g_parts);
  rest_ms(2 * TICK_MS); /* pages that were just filled are not released */
  *peak = anonymous_bytes();
  atomic_store(&g_may_free, 1);
  if (g_threads == 0) empty(&g_part[0]);
  else wait_for(&g_emptied, g_parts);
}

static int judge(const char *what) {
  memset(g_block, 0, sizeof g_block);
  memset(g_bytes, 1, sizeof g_bytes);
  memset(g_page, 0, sizeof g_page);
  size_t peak, base = anonymous_bytes();
  load(&peak);
  const size_t after = anonymous_bytes(), live = live_pages_bytes(), floor = base + live + live / 10 + SPARE_BYTES;
  printf("MiB above what was there: peak %zu, after the frees %zu, survivors %zu;", (peak - base) / MIB,
         (after - base) / MIB, live / MIB);
  const int good = is_as_said(what, peak, after, floor);
  printf(" now %zu\n", (anonymous_bytes() - base) / MIB);
  atomic_store(&g_may_end, 1);
  for (int i = 0; i < g_threads; i++) pthread_join(g_part[i].thread, NULL);
  return good ? 0 : 1;
}

static void *allocate_and_wait(void *own) {
  free(malloc(100));
  atomic_store(&g_filled, 1);
  wait_for(&g_may_end, 1);
  return own;
}

/* The parent has a background thread; the child has none until the child starts threads. */
static int judge_in_child(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, allocate_and_wait, NULL);
  wait_for(&g_filled, 1);
  free_much();
  work_expect(comes_true(one_helper), "no helper thread");
  atomic_store(&g_filled, 0);
  const pid_t child = fork();
  if (child == 0) return judge("falls");
  int status = 1;
  work_expect(child > 0 && waitpid(child, &status, 0) == child, "fork");
  atomic_store(&g_may_end, 1);
  pthread_join(thread, NULL);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int count, char **arguments) {
  work_expect(count == 4, "usage: idle_memory LOAD THREADS WHAT");
  g_load = arguments[1];
  g_threads = atoi(arguments[2]);
  g_parts = g_threads == 0 ? 1 : g_threads;
  work_expect(g_parts <= MOST_THREADS, "too many threads");
  return strcmp(arguments[3], "child") == 0 ? judge_in_child() : judge(arguments[3]);
}
