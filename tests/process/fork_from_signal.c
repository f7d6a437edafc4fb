/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fork_from_signal.c [forks]: a timer's handler forks again and again while five threads are busy in malloc; the child
 * continues at the interrupted instruction, mostly inside malloc. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "workload.h"

enum { HAMMERS = 4, FORKS = 200 };

static volatile sig_atomic_t g_in_child, g_over;
static volatile pid_t g_child;
static atomic_int g_stop;

static void fork_now(int signal) {
  (void)signal;
  if (g_child != 0 || g_in_child || g_over) return;
  const pid_t pid = fork();
  if (pid == 0) {
    g_in_child = 1;
    alarm(60);
    return;
  }
  g_child = pid;
}

static void *hammer(void *seed) {
  for (uint32_t i = 0; !atomic_load(&g_stop); i++) work((uint32_t)(uintptr_t)seed * 1000 + i);
  return NULL;
}

/* Blocked while threads are started, which inherit the mask: only the main thread gets the timer's signal. */
static void timer_signal(int how) {
  sigset_t timer;
  sigemptyset(&timer);
  sigaddset(&timer, SIGPROF);
  pthread_sigmask(how, &timer, NULL);
}

static void finish_child(void) {
  for (uint32_t seed = 0; seed < 3; seed++) work(seed);
  malloc_trim(0);
  _exit(0);
}

static void reap(void) {
  int status = 1;
  work_expect(waitpid(g_child, &status, 0) == g_child, "no child");
  if (status != 0) dprintf(STDERR_FILENO, "child's status: %#x\n", (unsigned)status);
  work_expect(status == 0, "a child failed");
  g_child = 0;
}

int main(int count, char **words) {
  pthread_t threads[HAMMERS];
  timer_signal(SIG_BLOCK);
  for (uintptr_t i = 0; i < HAMMERS; i++) pthread_create(&threads[i], NULL, hammer, (void *)i);
  signal(SIGPROF, fork_now);
  timer_signal(SIG_UNBLOCK);
  const struct itimerval interval = {{0, 3000}, {0, 3000}};
  setitimer(ITIMER_PROF, &interval, NULL);
  int forks = 0, most = count > 1 ? atoi(words[1]) : FORKS;
  for (uint32_t seed = 0; forks < most; seed++) {
    work(seed);
    if (g_in_child) finish_child();
    if (g_child == 0) continue;
    g_over = ++forks == most; /* a signal after the last child makes no further one */
    reap();
  }
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_PROF, &never, NULL);
  atomic_store(&g_stop, 1);
  for (int i = 0; i < HAMMERS; i++) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
