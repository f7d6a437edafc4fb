/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* thread_first.c: in a fork's child a new thread allocates before the thread that called fork.
 *
 * what      No code of HAKMEM has run in the child when the new thread allocates. "atfork": a handler registered before
 *           HAKMEM's starts the thread; "bare": the thread starts after _Fork, which calls no handlers. HAKMEM must not
 *           take the new thread for the survivor, nor the survivor's caches for a vanished thread's: two threads would
 *           use the same caches. So three threads are counted, and then allocate and free blocks of one size side by
 *           side, and each checks its blocks.
 * owner     Each thread has separate blocks.
 * orders    g_first_came and g_damaged: sequentially consistent; g_together.
 * failure   A line and exit status 1; a child that hangs is ended by an alarm.
 * not here  What the fork cuts (cuts.c).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "../process/workload.h"
#include "hakmem/hakmem.h"

enum { HELD = 64, BYTES = 48, ROUNDS = 1000000, WARM = 3000, THREADS = 3 };

static atomic_int g_first_came, g_damaged;
static pthread_barrier_t g_together;
static pthread_t g_first;

static void replace(unsigned char **held, unsigned char mark) {
  if (*held != NULL && ((*held)[0] != mark || (*held)[BYTES - 1] != mark)) atomic_store(&g_damaged, 1);
  free(*held);
  *held = malloc(BYTES);
  work_expect(*held != NULL, "no memory");
  memset(*held, mark, BYTES);
}

static void churn(unsigned char mark) {
  unsigned char *held[HELD] = {NULL};
  uint32_t state = mark;
  for (int i = 0; i < ROUNDS && !atomic_load(&g_damaged); i++) replace(&held[work_next(&state) % HELD], mark);
  if (atomic_load(&g_damaged)) return;
  for (int i = 0; i < HELD; i++) free(held[i]);
}

static void take_and_free(int count, size_t n) {
  static __thread void *taken[WARM];
  for (int i = 0; i < count; i++) taken[i] = malloc(n);
  for (int i = 0; i < count; i++) free(taken[i]);
}

/* This thread's caches hold blocks of each size. */
static void warm_up(void) {
  for (size_t n = 16; n < 3000; n += 16) take_and_free(30, n);
}

/* After each thread has allocated once, the threads stand still, are counted, and go on. */
static void count_threads(void) {
  int (*stats)(struct hak_stats *) = (int (*)(struct hak_stats *))dlsym(RTLD_DEFAULT, "hak_get_stats");
  struct hak_stats s = {.version = HAK_STATS_VERSION, .size = sizeof s};
  work_expect(stats != NULL && stats(&s) == 0, "libhakmem.so is not there");
  work_expect(s.threads == THREADS, "a living thread is not counted, or a vanished one is");
}

static void side_by_side(unsigned char mark, void (*between)(void)) {
  take_and_free(WARM, BYTES);
  pthread_barrier_wait(&g_together);
  between();
  pthread_barrier_wait(&g_together);
  churn(mark);
}

static void nothing(void) {}

static void *come_first(void *unused) {
  (void)unused;
  take_and_free(WARM, BYTES);
  atomic_store(&g_first_came, 1);
  side_by_side(1, nothing);
  return NULL;
}

static void *come_later(void *unused) {
  (void)unused;
  side_by_side(2, nothing);
  return NULL;
}

/* This thread's only malloc here is pthread_create's, served by the thread's caches. */
static void let_a_thread_come_first(void) {
  alarm(100);
  work_expect(pthread_create(&g_first, NULL, come_first, NULL) == 0, "no thread");
  while (!atomic_load(&g_first_came)) usleep(1000);
}

static void all_together(void) {
  pthread_t other;
  warm_up();
  work_expect(pthread_create(&other, NULL, come_later, NULL) == 0, "no thread");
  side_by_side(3, count_threads);
  pthread_join(other, NULL);
  pthread_join(g_first, NULL);
  work_expect(!atomic_load(&g_damaged), "a block changed under its owner");
  _exit(0);
}

static int g_atfork;

static void in_child(void) {
  if (g_atfork) let_a_thread_come_first();
}

static void register_before_hakmem(void) { pthread_atfork(NULL, NULL, in_child); }

__attribute__((section(".preinit_array"), used)) static void (*const g_before_all)(void) = register_before_hakmem;

int main(int count, char **arguments) {
  int status = 1;
  g_atfork = count == 2 && strcmp(arguments[1], "atfork") == 0;
  pthread_barrier_init(&g_together, NULL, THREADS);
  warm_up();
  const pid_t child = g_atfork ? fork() : _Fork();
  if (child == 0 && !g_atfork) let_a_thread_come_first();
  if (child == 0) all_together();
  work_expect(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child failed");
  puts("done");
  return 0;
}
