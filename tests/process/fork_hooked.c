/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fork_hooked.c: this program's own __register_atfork stands for libc's, which holds a lock: a handler that forked there
 * would wait for ever, so HAKMEM may call it only while signals are blocked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "workload.h"

typedef void hook(void);

static atomic_int g_hooks, g_open; /* calls; those in which a handler may run */

int __register_atfork(hook *prepare, hook *parent, hook *child, void *library);
int __register_atfork(hook *prepare, hook *parent, hook *child, void *library) {
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  atomic_fetch_add(&g_hooks, 1);
  atomic_fetch_add(&g_open, !sigismember(&blocked, SIGUSR1));
  int (*next)(hook *, hook *, hook *, void *) =
      (int (*)(hook *, hook *, hook *, void *))dlsym(RTLD_NEXT, "__register_atfork");
  return next(prepare, parent, child, library);
}

static void *allocate(void *nothing) {
  free(malloc(100));
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  work_expect(!sigismember(&blocked, SIGUSR1), "the thread's signals stay blocked");
  return nothing;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, allocate, NULL);
  pthread_join(thread, NULL);
  work_expect(g_hooks == 1, "HAKMEM has no hook, or several");
  work_expect(g_open == 0, "a signal's handler may run while libc has its lock");
  puts("done");
  return 0;
}
