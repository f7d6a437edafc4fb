/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* host.c: a program that triggers all of an allocator's work beside malloc and free.
 *
 * what      Threads that take and free blocks of all kinds, an idle time until the background thread has run, a fork,
 *           an exit. With "vfork" a child of vfork first makes the calls that a launcher makes in a child before exec.
 * failure   Exit status 1 and a line.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hakmem/hakmem.h"

enum { THREADS = 3, BLOCKS = 400, BIG_BYTES = 5 << 20, PATIENCE = 200, MUCH = 4 };

int prctl(int option, ...);
int unshare(int flags);
int setns(int descriptor, int kind);
extern __typeof__(hak_counter) hak_counter __attribute__((weak));
extern __typeof__(hak_get_stats) hak_get_stats __attribute__((weak));

static pthread_barrier_t together;

static void fail(const char *why) {
  fprintf(stderr, "host: %s\n", why);
  exit(1);
}

static void use_memory(void) {
  static const size_t sizes[] = {24, 100, 1000, 9000, 40000, 200000, 900000};
  void *blocks[BLOCKS];
  for (size_t n = 0; n < BLOCKS; n++) blocks[n] = memset(malloc(sizes[n % 7]), 1, sizes[n % 7]);
  for (size_t n = 0; n < BLOCKS; n++) free(blocks[n]);
  char *big = memset(malloc(BIG_BYTES), 1, BIG_BYTES);
  big = realloc(big, (size_t)BIG_BYTES * 2);
  free(big);
}

static void free_much(void) {
  void *blocks[MUCH];
  for (size_t n = 0; n < MUCH; n++) blocks[n] = memset(malloc(BIG_BYTES), 1, BIG_BYTES);
  for (size_t n = 0; n < MUCH; n++) free(blocks[n]);
}

static void *work(void *with) {
  for (int n = 0; n < 3; n++) use_memory();
  pthread_barrier_wait(&together);
  pthread_barrier_wait(&together);
  return with;
}

/* Compares two texts without a function of libc: the program may define functions of these names. */
static bool is(const char *one, const char *other) {
  while (*one != '\0' && *one == *other) one++, other++;
  return *one == *other;
}

static uint64_t background_starts(void) {
  const char *name;
  uint64_t value;
  for (unsigned n = 0; hak_counter != NULL && hak_counter(n, &name, &value); n++) {
    if (is(name, "background_starts")) return value;
  }
  return 0;
}

/* While a second thread exists, a thread that frees much starts the background thread, which then works. */
static void idle(void) {
  for (int n = 0; n < PATIENCE && background_starts() == 0; n++) {
    free_much();
    usleep(10000);
  }
  if (background_starts() == 0) fail("no helper");
  usleep(150000);
}

static void fork_and_wait(void) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    use_memory();
    _exit(0);
  }
  waitpid(child, &status, 0);
  if (status != 0) fail("the forked child fails");
}

/* As launchers do; every call may be refused. */
static void launch(void) {
  enum { NO_NEW_PRIVS = 38, SET_TSC = 26, TSC_SIGSEGV = 2, FILES = 0x400, NETWORK = 0x40000000 };
  static char *nothing[] = {NULL};
  int status = -1;
  pid_t child = vfork();
  if (child == 0) {
    prctl(NO_NEW_PRIVS, 1L, 0L, 0L, 0L);
    unshare(FILES);
    setns(-1, NETWORK);
    if (setgid(getgid()) != 0 || setuid(getuid()) != 0) _exit(2);
    execle("/bin/true", "true", (char *)NULL, nothing);
    _exit(1);
  }
  waitpid(child, &status, 0);
  if (status != 0) fail("the launched child fails");
}

/* Where libc's functions cannot be found: the system call is made, or the call is refused. */
static void change_alone(void) {
  enum { SET_NAME = 15 };
  if (prctl(SET_NAME, "host", 0L, 0L, 0L) != 0 || prctl(-1, 0L, 0L, 0L, 0L) != -1 || errno != EINVAL) fail("prctl");
  if (setns(-1, 0) != -1 || errno != EBADF) fail("setns");
  if (setuid(getuid()) != -1 || errno != ENOSYS) fail("setuid");
}

static void *use_once(void *with) {
  free(malloc(100));
  return with;
}

/* Every key is taken before a thread has a block: each thread still returns its caches at its end. */
static void take_keys(void) {
  enum { ONE_BY_ONE = 50 };
  pthread_key_t key;
  pthread_t thread;
  struct hak_stats stats = {.version = HAK_STATS_VERSION, .size = sizeof stats};
  while (pthread_key_create(&key, NULL) == 0) continue;
  for (int n = 0; n < ONE_BY_ONE; n++) {
    pthread_create(&thread, NULL, use_once, NULL);
    pthread_join(thread, NULL);
  }
  if (hak_get_stats == NULL || hak_get_stats(&stats) != 0 || stats.threads > 2) fail("threads that ended have caches");
}

static void free_twice(void) {
  void *p = malloc(100);
  free(p);
  free(p);
}

int main(int count, char **words) {
  pthread_t threads[THREADS];
  pthread_barrier_init(&together, NULL, THREADS + 1);
  const char *how = count > 1 ? words[1] : "";
  if (is(how, "keys")) take_keys();
  use_memory();
  if (is(how, "alone")) change_alone();
  if (is(how, "vfork") || is(how, "vfork_crash")) launch();
  for (int n = 0; n < THREADS; n++) pthread_create(&threads[n], NULL, work, NULL);
  pthread_barrier_wait(&together);
  if (!is(how, "archive")) idle();
  fork_and_wait();
  pthread_barrier_wait(&together);
  for (int n = 0; n < THREADS; n++) pthread_join(threads[n], NULL);
  if (is(how, "crash") || is(how, "vfork_crash")) *(volatile int *)8 = 1;
  if (is(how, "twice")) free_twice();
  puts("done");
  return 0;
}
