/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fork_starved.c: forks that no hook notices, while a drain of idle threads is due. The first slow path of the child
 * must not start a background thread that the child takes for the parent's: such a thread never ends. Run with a small
 * process_cache_bytes, and with price=0, at which only a starving thread starts a background thread. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "observe.h"

enum { THREADS = 3, LEAST = 64, LARGEST = 16 << 10, KEPT = 256 << 10, HELD = 64, ROUNDS = 20, EVERY = 4, ALL = 4096 };

static atomic_int g_filled;

static size_t size_after(size_t n) { return n * 5 / 4; }

static void take_and_free(size_t n) {
  static __thread void *block[ALL];
  const size_t blocks = KEPT / n;
  for (size_t i = 0; i < blocks; i++) block[i] = malloc(n);
  for (size_t i = 0; i < blocks; i++) free(block[i]);
}

static void *fill_and_idle(void *unused) {
  for (int round = 0; round < 4; round++) {
    for (size_t n = LEAST; n <= LARGEST; n = size_after(n)) take_and_free(n);
  }
  atomic_fetch_add(&g_filled, 1);
  while (pause() != 0) continue;
  return unused;
}

static void be_child(void) {
  alarm(60);
  free(malloc(100000)); /* a slow path */
  malloc_trim(0);       /* ends a background thread */
  _exit(comes_true(alone) ? 0 : 1);
}

static void fork_now(void) {
  int status = 1;
  const pid_t child = _Fork();
  if (child == 0) be_child();
  work_expect(waitpid(child, &status, 0) == child && status == 0, "a child keeps a thread that malloc_trim does not end");
}

static void starve(size_t n) {
  void *block[HELD];
  for (int i = 0; i < HELD; i++) {
    block[i] = malloc(n);
    if (i % EVERY == 0) fork_now();
  }
  for (int i = 0; i < HELD; i++) free(block[i]);
}

int main(void) {
  pthread_t thread;
  for (int i = 0; i < THREADS; i++) pthread_create(&thread, NULL, fill_and_idle, NULL);
  while (atomic_load(&g_filled) < THREADS) rest_ms(1);
  work_expect(comes_true(no_helper), "a background thread lasts");
  for (int round = 0; round < ROUNDS && no_helper(); round++) {
    for (size_t n = LEAST; n <= LARGEST; n = size_after(n)) starve(n);
  }
  work_expect(counter_now("background_starts") != 0, "no thread starved: this shows nothing");
  puts("done");
  return 0;
}
