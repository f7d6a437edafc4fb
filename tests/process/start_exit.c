/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* start_exit.c: a small threaded program that starts, works and ends. "running": its threads still work while the
 * process exits; "joined": the threads have ended; "leaving": main ends first, with pthread_exit. process_test.py runs
 * the program a thousand times, and under valgrind. */
#include <pthread.h>

#include "workload.h"

enum { THREADS = 3 };

static void *work_once(void *seed) {
  work((uint32_t)(uintptr_t)seed);
  return NULL;
}

static void *work_forever(void *seed) {
  for (uint32_t i = 0;; i++) work((uint32_t)(uintptr_t)seed + i);
  return NULL;
}

static void at_exit(void) { work(99); }

int main(int count, char **arguments) {
  const int running = count > 1 && strcmp(arguments[1], "running") == 0;
  const int leaving = count > 1 && strcmp(arguments[1], "leaving") == 0;
  pthread_t threads[THREADS];
  atexit(at_exit);
  for (uintptr_t i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, running ? work_forever : work_once, (void *)(i + 1));
  work(7);
  for (int i = 0; i < THREADS && !running && !leaving; i++) pthread_join(threads[i], NULL);
  puts("done");
  if (leaving) pthread_exit(NULL);
  return 0;
}
