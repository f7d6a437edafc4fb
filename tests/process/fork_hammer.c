/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fork_hammer.c: fork while four threads are inside malloc.
 *
 * what      The child works at once, starts threads, and finds every block of the parent unchanged: blocks of the
 *           forking thread and of the threads that the child does not have. The argument names the call: fork, _Fork,
 *           vfork, spawn.
 * owner     Each hammering thread publishes its blocks in its own slots.
 * orders    A slot's block is published with release after the fill, and withdrawn before any access.
 * failure   A child that hangs is ended by an alarm; every child must exit with status 0.
 * not here  fork from a signal handler (fork_from_signal.c, fork_in_malloc.c).
 */
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "workload.h"

enum { HAMMERS = 4, SLOTS = 64, TAKEN = 600 };

struct slot {
  _Atomic(unsigned char *) p;
  size_t n;
};

static struct slot g_slots[HAMMERS + 1][SLOTS];
static atomic_int g_stop;
extern char **environ;

static unsigned char mark_of(const struct slot *slots) { return (unsigned char)((slots - g_slots[0]) / SLOTS + 1); }

static void replace(struct slot *slots, uint32_t *state) {
  struct slot *slot = &slots[work_next(state) % SLOTS];
  unsigned char *old = atomic_exchange(&slot->p, NULL);
  if (old != NULL) {
    work_expect(old[0] == mark_of(slots) && old[slot->n - 1] == mark_of(slots), "hammer found a damaged block");
    free(old);
  }
  slot->n = work_size(state) % 300000 + 1;
  unsigned char *p = malloc(slot->n);
  work_expect(p != NULL, "hammer found no memory");
  memset(p, mark_of(slots), slot->n < 4096 ? slot->n : 4096);
  p[slot->n - 1] = mark_of(slots);
  atomic_store_explicit(&slot->p, p, memory_order_release);
}

static void *hammer(void *number) {
  const uintptr_t mine = (uintptr_t)number;
  uint32_t state = (uint32_t)mine + 1;
  while (!atomic_load_explicit(&g_stop, memory_order_relaxed)) replace(g_slots[mine], &state);
  return NULL;
}

static void check_slots(const char *what) {
  for (int i = 0; i <= HAMMERS; i++) {
    for (int k = 0; k < SLOTS; k++) {
      const unsigned char *p = atomic_load(&g_slots[i][k].p);
      const size_t n = g_slots[i][k].n;
      if (p == NULL) continue;
      for (size_t at = 0; at < n && at < 4096; at++) work_expect(p[at] == mark_of(g_slots[i]), what);
      work_expect(p[n - 1] == mark_of(g_slots[i]), what);
    }
  }
}

/* Allocates and overwrites new blocks: if a new block were also a block of the parent's threads, check_slots would
 * fail. */
static void take_many(void) {
  static void *taken[TAKEN];
  uint32_t state = (uint32_t)getpid();
  for (int i = 0; i < TAKEN; i++) {
    const size_t n = work_size(&state) % 5000;
    taken[i] = malloc(n);
    work_expect(taken[i] != NULL, "child found no memory");
    memset(taken[i], 0xEE, n);
  }
  check_slots("a block of the parent was handed out again in the child");
  for (int i = 0; i < TAKEN; i++) free(taken[i]);
}

static void *work_in_thread(void *seed) {
  work((uint32_t)(uintptr_t)seed);
  take_many();
  return NULL;
}

static void free_all_slots(void) {
  for (int i = 0; i <= HAMMERS; i++)
    for (int k = 0; k < SLOTS; k++) free(atomic_exchange(&g_slots[i][k].p, NULL));
}

static void child(int number) {
  alarm(60);
  check_slots("a block of the parent is damaged in the child");
  take_many();
  work((uint32_t)number);
  if (number % 5 == 0) {
    pthread_t thread;
    work_expect(pthread_create(&thread, NULL, work_in_thread, NULL) == 0, "child cannot start a thread");
    work(1);
    pthread_join(thread, NULL);
  }
  if (number % 3 == 0) free_all_slots();
  if (number % 7 == 0) malloc_trim(0);
  if (number % 2 == 0) exit(0);
  _exit(0);
}

static void expect_good_end(pid_t pid) {
  int status = 0;
  work_expect(pid > 0 && waitpid(pid, &status, 0) == pid, "no child");
  if (status != 0) dprintf(STDERR_FILENO, "child's status: %#x\n", (unsigned)status);
  work_expect(status == 0, "a child failed");
}

static pid_t by_fork(int number) {
  const pid_t pid = fork();
  if (pid == 0) child(number);
  return pid;
}

/* Runs no pthread_atfork handlers: only the kernel knows of the fork. */
static pid_t by_bare_fork(int number) {
  const pid_t pid = _Fork();
  if (pid == 0) {
    work((uint32_t)number);
    alarm(60);
    take_many();
    _exit(0);
  }
  return pid;
}

/* A program that does nothing, of the libc of this one: the child preloads the library, too. */
#ifndef HAK_TEST_TRUE
#define HAK_TEST_TRUE "/bin/true"
#endif
static char *const g_true[] = {HAK_TEST_TRUE, NULL};

static pid_t by_vfork(int number) {
  (void)number;
  const pid_t pid = vfork();
  if (pid == 0) {
    execve(g_true[0], g_true, environ);
    _exit(127);
  }
  return pid;
}

static pid_t by_spawn(int number) {
  (void)number;
  pid_t pid = -1;
  work_expect(posix_spawn(&pid, g_true[0], NULL, NULL, g_true, environ) == 0, "posix_spawn");
  return pid;
}

static const struct {
  const char *name;
  pid_t (*start)(int number);
  int times;
} g_ways[] = {{"fork", by_fork, 200}, {"_Fork", by_bare_fork, 100}, {"vfork", by_vfork, 100}, {"spawn", by_spawn, 100}};

static void run_way(pid_t (*start)(int number), int times) {
  pthread_t threads[HAMMERS];
  uint32_t state = 77;
  for (uintptr_t i = 0; i < HAMMERS; i++) pthread_create(&threads[i], NULL, hammer, (void *)i);
  for (int number = 0; number < times; number++) {
    for (int i = 0; i < 20; i++) replace(g_slots[HAMMERS], &state);
    expect_good_end(start(number));
  }
  atomic_store(&g_stop, 1);
  for (int i = 0; i < HAMMERS; i++) pthread_join(threads[i], NULL);
  check_slots("a block is damaged in the parent");
  free_all_slots();
}

int main(int count, char **arguments) {
  for (size_t i = 0; i < sizeof g_ways / sizeof g_ways[0]; i++) {
    if (count != 2 || strcmp(arguments[1], g_ways[i].name) != 0) continue;
    run_way(g_ways[i].start, g_ways[i].times);
    puts("done");
    return 0;
  }
  work_failed("usage: fork_hammer fork|_Fork|vfork|spawn");
}
