/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* large_pairs.c SIZE [forked]: pairs of malloc and free after a warm-up, between two getppid calls that mark the pairs
 * for strace. forked: by a thread of a fork's child, whose first thread waits for the end without a call. */
#include <pthread.h>
#include <sys/wait.h>

#include "workload.h"

static void *pairs(void *size) {
  const size_t n = *(const size_t *)size;
  for (int i = 0; i < 2100; i++) {
    if (i == 100) getppid();
    char *p = malloc(n);
    work_expect(p != NULL, "no memory");
    p[0] = p[n - 1] = 1;
    free(p);
  }
  getppid();
  return NULL;
}

static int pairs_of_another_thread(size_t *n) {
  pthread_t thread;
  work_expect(pthread_create(&thread, NULL, pairs, n) == 0 && pthread_join(thread, NULL) == 0, "a thread");
  return 0;
}

int main(int count, char **arguments) {
  size_t n = count >= 2 ? strtoul(arguments[1], NULL, 10) : 0;
  work_expect(n > 0, "usage: large_pairs SIZE [forked]");
  if (count == 2) return pairs(&n) != NULL;
  const pid_t child = fork();
  int status = 0;
  if (child == 0) return pairs_of_another_thread(&n);
  return waitpid(child, &status, 0) != child || status != 0;
}
