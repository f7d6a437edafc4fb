/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* traced.c: a program with known calls, for the tests of `hakmem trace`.
 *
 *     traced calls               every kind of call; prints for each: operation, freed block, new block, size,
 *                                log2 of the alignment; errno is checked before and after
 *     traced threads T N         N pairs in each of T threads at once
 *     traced chain T N           the same, the threads in sequence
 *     traced ends T              threads whose destructors free a block each
 *     traced fork N              N pairs, then N + 1 in a forked child, then N + 2 in the parent
 *     traced fork_threads N      forks N times beside threads that allocate; each child makes 100 pairs
 *     traced vfork N             N pairs in the child of vfork, then N in the parent
 *     traced exec N CMD ...      N pairs, then executes CMD
 *     traced kill N              N pairs, then SIGKILL to itself
 *     traced wait N              N pairs, prints "ready", then sleeps until a signal ends the process
 *     traced closed FILE N       closes every descriptor, opens FILE under all numbers up to 1023, then N pairs
 *     traced signals N           N pairs under a storm of signals
 *     traced limit N             no file may be longer than 100,000 bytes; N pairs
 *     traced cancel N            a cancelled thread makes N pairs before its next cancellation point
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ALLOC = 1, ZEROED, ALIGNED, FREE, RESIZE, ERRNO = 77 };

static void fail(const char *what)
{
  if (write(2, what, strlen(what)) < 0)
    _exit(9);
  _exit(8);
}

static void pairs(long n)
{
  for (long i = 0; i < n; i++)
    free(malloc((size_t)(i % 500)));
}

/* ---- known calls ---- */

/* Without a buffer of stdio's, which would be a block. */
static void say(int op, const void *went, const void *came, size_t size, int align)
{
  char line[100];
  int n = snprintf(line, sizeof line, "%d %#lx %#lx %zu %d\n", op, (unsigned long)went, (unsigned long)came, size, align);
  if (errno != ERRNO && came != NULL)
    fail("errno was changed\n");
  errno = ERRNO;
  if (write(1, line, (size_t)n) != n)
    fail("write\n");
  errno = ERRNO;
}

static void *got(int op, void *p, size_t n, int align)
{
  say(op, NULL, p, n, align);
  return p;
}

static void gone(void *p)
{
  say(FREE, p, NULL, 0, 0);
  free(p);
}

static void *resize(void *p, size_t n)
{
  unsigned long before = (unsigned long)p;
  void *q = realloc(p, n);
  say(RESIZE, (void *)before, q, n, 0);
  return q == NULL ? (void *)before : q;
}

static void all_sizes(void)
{
  static const size_t sizes[] = {0, 1, 24, 1000, 1025, 30000, 40000, 200000, 500000, 3 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    size_t n = sizes[i];
    gone(got(ALLOC, malloc(n), n, 0));
    gone(got(ZEROED, calloc(n, 1), n, 0));
    gone(resize(resize(resize(got(ALLOC, malloc(n), n, 0), n + 1), n + 100), 3 * n + 5000));
  }
}

static void known_calls(void)
{
  void *p = NULL;
  volatile size_t too_much = (size_t)-1 / 2 + 2;
  errno = ERRNO;
  all_sizes();
  gone(got(ALIGNED, aligned_alloc(64, 640), 640, 6));
  if (posix_memalign(&p, 4096, 100) == 0)
    gone(got(ALIGNED, p, 100, 12));
  gone(got(ALIGNED, memalign(1 << 20, 100), 100, 20));
  gone(got(ALLOC, realloc(NULL, 77), 77, 0));
  gone(got(ALLOC, reallocarray(NULL, 7, 11), 77, 0));
  p = got(ALLOC, malloc(50), 50, 0);
  say(FREE, p, NULL, 0, 0);
  free(p = realloc(p, 0));
  got(ALLOC, malloc(too_much), too_much, 0);
  gone(resize(got(ALLOC, malloc(50), 50, 0), too_much));
  free(NULL);
}

/* ---- threads ---- */

static void *thread_pairs(void *n)
{
  pairs(*(long *)n);
  return NULL;
}

static void threads(int count, long n, int at_once)
{
  pthread_t made[256];
  for (int i = 0; i < count; i++) {
    if (pthread_create(&made[i % 256], NULL, thread_pairs, &n) != 0)
      fail("pthread_create\n");
    if (!at_once)
      pthread_join(made[i % 256], NULL);
  }
  for (int i = 0; at_once && i < count; i++)
    pthread_join(made[i], NULL);
}

static pthread_key_t key;

static void *hold_a_block(void *none)
{
  pthread_setspecific(key, malloc(123));
  return none;
}

static void ends(int count)
{
  pthread_t thread;
  free(malloc(1)); /* the library's key is older, and its destructor runs first */
  pthread_key_create(&key, free);
  for (int i = 0; i < count; i++) {
    pthread_create(&thread, NULL, hold_a_block, NULL);
    pthread_join(thread, NULL);
  }
}

static void *cancelled_pairs(void *n)
{
  pthread_cancel(pthread_self());
  pairs(*(long *)n);
  printf("survived\n");
  fflush(stdout);
  pthread_testcancel();
  return NULL;
}

static void cancel(long n)
{
  pthread_t thread;
  pthread_create(&thread, NULL, cancelled_pairs, &n);
  pthread_join(thread, NULL);
}

/* ---- processes ---- */

static void reap(pid_t child)
{
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0)
    fail("a child failed\n");
}

static void forked(long n)
{
  pairs(n);
  pid_t child = fork();
  if (child == 0) {
    pairs(n + 1);
    _exit(0);
  }
  reap(child);
  pairs(n + 2);
}

static volatile int stopping;

static void *allocate_until_stopped(void *none)
{
  while (!stopping) {
    pairs(50);
    usleep(200);
  }
  return none;
}

static void fork_threads(long n)
{
  pthread_t busy[3];
  for (int i = 0; i < 3; i++)
    pthread_create(&busy[i], NULL, allocate_until_stopped, NULL);
  for (long i = 0; i < n; i++) {
    pid_t child = fork();
    if (child == 0) {
      pairs(100);
      _exit(0);
    }
    reap(child);
  }
  stopping = 1;
  for (int i = 0; i < 3; i++)
    pthread_join(busy[i], NULL);
}

static void vforked(volatile long n)
{
  pid_t child = vfork();
  if (child == 0) {
    pairs(n);
    _exit(0);
  }
  reap(child);
  pairs(n);
}

static void closed(const char *path, long n)
{
  if (close_range(3, ~0u, 0) != 0)
    fail("close_range\n");
  int file = open(path, O_RDWR | O_CREAT, 0600);
  while (file >= 0 && file < 1023)
    file = dup(file);
  pairs(n);
}

/* ---- signals ---- */

static void nothing(int number)
{
  (void)number;
}

static void signals(long n)
{
  const struct itimerval often = {{0, 50}, {0, 50}};
  signal(SIGALRM, nothing);
  setitimer(ITIMER_REAL, &often, NULL);
  pairs(n);
}

static void limited(long n)
{
  const struct rlimit limit = {100000, 100000};
  setrlimit(RLIMIT_FSIZE, &limit);
  pairs(n);
}

static void wait_for_the_end(long n)
{
  pairs(n);
  if (write(1, "ready\n", 6) == 6)
    for (;;)
      pause();
}

static long number(char **argv, int at)
{
  return argv[at] == NULL ? 0 : atol(argv[at]);
}

int main(int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "calls";
  long n = argc > 2 ? number(argv, 2) : 0;
  if (strcmp(what, "calls") == 0)
    known_calls();
  if (strcmp(what, "threads") == 0 || strcmp(what, "chain") == 0)
    threads((int)n, number(argv, 3), what[0] == 't');
  if (strcmp(what, "ends") == 0)
    ends((int)n);
  if (strcmp(what, "cancel") == 0)
    cancel(n);
  if (strcmp(what, "fork") == 0)
    forked(n);
  if (strcmp(what, "fork_threads") == 0)
    fork_threads(n);
  if (strcmp(what, "vfork") == 0)
    vforked(n);
  if (strcmp(what, "kill") == 0)
    pairs(n), kill(getpid(), SIGKILL);
  if (strcmp(what, "wait") == 0)
    wait_for_the_end(n);
  if (strcmp(what, "closed") == 0)
    closed(argv[2], number(argv, 3));
  if (strcmp(what, "signals") == 0)
    signals(n);
  if (strcmp(what, "limit") == 0)
    limited(n);
  if (strcmp(what, "exec") == 0) {
    pairs(n);
    execvp(argv[3], argv + 3);
  }
  return 0;
}
