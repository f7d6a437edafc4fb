/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tight.c: the smallest possible stack of a thread, and no file descriptors. */
#include <limits.h>
#include <pthread.h>
#include <sys/resource.h>

#include "workload.h"

/* work() keeps its blocks on the stack; here only sizes and routes matter. */
static void *touch_all_paths(void *unused) {
  static void *held[3000];
  for (size_t n = 1; n < 40000; n += n / 2 + 1) {
    for (int i = 0; i < 300; i++) held[i] = malloc(n);
    for (int i = 0; i < 300; i++) free(held[i]);
  }
  free(realloc(realloc(malloc(10), 300000), 40000000));
  free(calloc(1, 3000000));
  free(aligned_alloc(65536, 100000));
  malloc_trim(0);
  return unused;
}

static void in_smallest_thread(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  work_expect(pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0, "stack size");
  for (int i = 0; i < 20; i++) {
    work_expect(pthread_create(&thread, &attributes, touch_all_paths, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
  }
}

static void without_descriptors(void) {
  const struct rlimit none = {0, 0};
  work_expect(setrlimit(RLIMIT_NOFILE, &none) == 0, "setrlimit");
  in_smallest_thread();
  for (uint32_t seed = 0; seed < 20; seed++) work(seed);
}

int main(void) {
  in_smallest_thread();
  without_descriptors();
  malloc_stats();
  puts("done");
  return 0;
}
