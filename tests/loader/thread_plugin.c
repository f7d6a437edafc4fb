/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* thread_plugin.c: a library whose constructor waits for a thread that starts threads. The opening thread holds the
 * loader's lock meanwhile, so that a thread that calls the loader waits for ever. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

static int use_memory(void *ignored) {
  (void)ignored;
  free(malloc(1000));
  return 0;
}

static void *use_memory_too(void *ignored) {
  free(malloc(1000));
  return ignored;
}

static void *make_threads(void *failed) {
  thrd_t c11;
  pthread_t posix;
  if (thrd_create(&c11, use_memory, NULL) != thrd_success || thrd_join(c11, NULL) != thrd_success) *(int *)failed = 1;
  if (pthread_create(&posix, NULL, use_memory_too, NULL) != 0 || pthread_join(posix, NULL) != 0) *(int *)failed = 1;
  return NULL;
}

__attribute__((constructor)) static void wait_for_threads(void) {
  int failed = 0;
  pthread_t thread;
  if (pthread_create(&thread, NULL, make_threads, &failed) != 0) abort();
  pthread_join(thread, NULL);
  if (failed) abort();
}
