/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fork_before_threads.c: forks that the library does not see, as the process has one thread, and threads after the
 * forks.
 *
 * what      As daemons do: forks once or twice, and the last child starts threads. While these threads replace blocks,
 *           one more thread, without any allocation, forks; its children allocate blocks of all sizes and free the
 *           process's older blocks.
 * owner     Each thread replaces its own blocks.
 * failure   A child that hangs is ended by an alarm; every child must exit with status 0.
 * not here  Forks of processes that had threads before: fork_hammer.c.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "workload.h"

enum { THREADS = 3, BLOCKS = 200, CHILDREN = 40, PATIENCE_S = 60 };

static void *g_before[BLOCKS];
static atomic_int g_stop, g_began;

static size_t size_of(uint32_t n) { return 1 + n * 2654435761u % 3000; }

static void take(void **blocks) {
  for (uint32_t n = 0; n < BLOCKS; n++) {
    blocks[n] = malloc(size_of(n));
    memset(blocks[n], (int)n, size_of(n));
  }
}

static void give(void **blocks) {
  for (uint32_t n = 0; n < BLOCKS; n++) {
    const unsigned char *p = blocks[n];
    work_expect(p[0] == (unsigned char)n && p[size_of(n) - 1] == (unsigned char)n, "a block was damaged");
    free(blocks[n]);
  }
}

static void *replace(void *unused) {
  while (!atomic_load(&g_stop)) {
    void *own[BLOCKS];
    take(own);
    give(own);
    atomic_fetch_add(&g_began, 1);
  }
  return unused;
}

static void expect_success(pid_t child) {
  int status;
  work_expect(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child failed");
}

/* Runs in a thread unknown to the library: libc gave the stack, and the thread never allocates. */
static void *fork_often(void *unused) {
  for (int n = 0; n < CHILDREN; n++) {
    pid_t child = n % 2 == 0 ? _Fork() : fork();
    if (child == 0) {
      alarm(PATIENCE_S);
      void *own[BLOCKS];
      take(own);
      give(own);
      give(g_before);
      _exit(0);
    }
    expect_success(child);
  }
  return unused;
}

static void run_threads(void) {
  pthread_t thread[THREADS], forking;
  for (int n = 0; n < THREADS; n++) work_expect(pthread_create(&thread[n], NULL, replace, NULL) == 0, "no thread");
  while (atomic_load(&g_began) < THREADS) sched_yield();
  work_expect(pthread_create(&forking, NULL, fork_often, NULL) == 0, "no thread");
  pthread_join(forking, NULL);
  atomic_store(&g_stop, 1);
  for (int n = 0; n < THREADS; n++) pthread_join(thread[n], NULL);
}

/* Forks `depth` deep; each child starts with its parent's blocks. */
static void descend(int depth) {
  if (depth == 0) {
    run_threads();
    give(g_before);
    return;
  }
  pid_t child = fork();
  if (child == 0) {
    alarm(PATIENCE_S);
    descend(depth - 1);
    exit(0);
  }
  expect_success(child);
}

int main(void) {
  take(g_before);
  for (int depth = 0; depth < 3; depth++) {
    pid_t child = fork();
    if (child == 0) {
      descend(depth);
      exit(0);
    }
    expect_success(child);
  }
  puts("done");
  return 0;
}
