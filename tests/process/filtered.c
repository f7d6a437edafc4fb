/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* filtered.c [work]: a program with a seccomp filter from before its start, as a service manager sets: forbids
 * priorities, affinities, or reading other processes. The program executes itself with HAK_TEST_PRELOAD preloaded, then
 * works in threads that free much memory. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "observe.h"

#define FORBID(name) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* A processor without access(): the loader asks faccessat for /etc/ld.so.preload. */
#ifdef SYS_access
#define FORBID_UNLESS_LOADERS FORBID(faccessat),
#else
#define FORBID_UNLESS_LOADERS
#endif

static struct sock_filter g_filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    FORBID(kcmp), FORBID(tgkill), FORBID(gettid), FORBID_UNLESS_LOADERS
    FORBID(sched_setaffinity), FORBID(sched_getscheduler), FORBID(sched_setscheduler),
    FORBID(process_madvise), FORBID(mincore), FORBID(getrusage),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
static const struct sock_fprog g_program = {sizeof g_filter / sizeof g_filter[0], g_filter};

static void *worker(void *own) {
  for (uint32_t seed = 0; seed < 20; seed++) work(seed);
  for (int i = 0; i < 5; i++) free_much();
  return own;
}

static void work_in_threads(void) {
  enum { THREADS = 3, ROUNDS = 5 };
  pthread_t thread[THREADS];
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, worker, NULL);
    free_much();
    rest_ms(5);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  }
  malloc_trim(0);
  puts("done");
}

int main(int count, char **arguments) {
  if (count == 2) {
    work_in_threads();
    return 0;
  }
  work_expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  work_expect(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &g_program) == 0, "seccomp");
  setenv("LD_PRELOAD", getenv("HAK_TEST_PRELOAD"), 1);
  execl(arguments[0], arguments[0], "work", NULL);
  work_failed("exec");
}
