/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* late_key.c: every thread key that needs no memory is taken before HAKMEM makes a key.
 *
 * what      40 keys are made before any constructor runs, so that HAKMEM's key comes after the 32 keys that libc stores
 *           in the thread itself: the first call of each thread makes libc call calloc inside.
 * owner     Each thread has separate blocks.
 * failure   The re-entry message and an abort.
 * not here  The number of libc's keys (tests/process/teardown.cpp).
 */
#include <pthread.h>

#include "../process/workload.h"

enum { KEYS = 40, THREADS = 20 };

static void take_keys(void) {
  pthread_key_t key;
  for (int i = 0; i < KEYS; i++) pthread_key_create(&key, NULL);
}

__attribute__((section(".preinit_array"), used)) static void (*const g_before_all)(void) = take_keys;

static void *work_once(void *seed) {
  work((uint32_t)(uintptr_t)seed);
  return NULL;
}

int main(void) {
  for (uintptr_t i = 0; i < THREADS; i++) {
    pthread_t thread;
    work_expect(pthread_create(&thread, NULL, work_once, (void *)i) == 0, "no thread");
    pthread_join(thread, NULL);
  }
  puts("done");
  return 0;
}
