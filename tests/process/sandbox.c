/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sandbox.c HOW: a program that forbids itself all kernel calls except those of glibc's malloc, read, write and the
 * ends of threads and processes, and then uses much memory. A forbidden call ends the process.
 *   alone     of one thread
 *   threads   two threads exist before, and are sandboxed, too
 *   ends      as threads, and the threads end; libc's calls at a thread's end are allowed, too
 *   forked    as alone, and the child of a fork continues
 *   still     of one thread that may not wait (futex) nor move memory (mremap), and has no block that grows
 *   bare      threads existed before, the filter is set by a bare kernel call, and new threads start; libc's calls for
 *             new threads are allowed, too, and files may be opened
 *   strict    of one thread in seccomp's strict mode, where the processor's clock may not be read, with memory from
 *             before */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "observe.h"

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter g_filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(madvise), ALLOW(mprotect), ALLOW(brk), ALLOW(futex),
    ALLOW(clock_gettime), ALLOW(read), ALLOW(write),
    ALLOW(exit), ALLOW(exit_group), ALLOW(rt_sigreturn),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static struct sock_filter g_filter_of_ends[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(madvise), ALLOW(mprotect), ALLOW(brk), ALLOW(futex),
    ALLOW(clock_gettime), ALLOW(read), ALLOW(write),
    ALLOW(exit), ALLOW(exit_group), ALLOW(rt_sigreturn),
    ALLOW(rt_sigprocmask), ALLOW(set_robust_list), ALLOW(rseq),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static struct sock_filter g_filter_of_threads[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(madvise), ALLOW(mprotect), ALLOW(brk), ALLOW(futex),
    ALLOW(clock_gettime), ALLOW(read), ALLOW(write),
    ALLOW(exit), ALLOW(exit_group), ALLOW(rt_sigreturn),
    ALLOW(rt_sigprocmask), ALLOW(set_robust_list), ALLOW(rseq), ALLOW(clone), ALLOW(clone3), ALLOW(sched_getaffinity),
    ALLOW(openat), ALLOW(close),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static struct sock_filter g_filter_of_moves[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 1, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

#define PROGRAM(filter) {sizeof(filter) / sizeof(filter)[0], filter}
static const struct sock_fprog g_program = PROGRAM(g_filter), g_program_of_ends = PROGRAM(g_filter_of_ends);
static bool g_ends;

static void shut_in(void) {
  work_expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  const struct sock_fprog *allowed = g_ends ? &g_program_of_ends : &g_program;
  work_expect(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, allowed) == 0, "seccomp");
}

/* Runs all work of slow paths, releases and trims, far beyond the sizes at which limits are checked. */
static void use_much(void) {
  enum { BLOCKS = 3000, BIG = 4 << 20 };
  static __thread void *held[BLOCKS];
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < BLOCKS; i++) held[i] = memset(malloc(50000), 1, 50000);
    for (int i = 0; i < BLOCKS; i++) free(held[i]);
    for (uint32_t seed = 0; seed < 20; seed++) work(seed);
    free_much();
    void *big = memset(malloc(BIG), 1, BIG);
    big = realloc(big, 3 * BIG);
    free(big);
    malloc_trim(0);
  }
  work_expect(malloc((size_t)1 << 46) == NULL, "64 TiB");
}

static void stay_still(void) {
  static const struct sock_fprog program = PROGRAM(g_filter_of_moves);
  work_expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  work_expect(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "seccomp");
  enum { BLOCKS = 6000 };
  static void *held[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) held[i] = memset(malloc(16000), 1, 16000);
  for (int i = 0; i < BLOCKS; i++) free(held[i]);
  for (int i = 0; i < BLOCKS / 6; i++) held[i] = memset(malloc(50000), 1, 50000);
  for (int i = 0; i < BLOCKS / 6; i++) free(held[i]);
  for (int i = 0; i < 10; i++) free(memset(malloc(4 * MIB), 1, 4 * MIB));
  malloc_trim(0);
}

static void use_little(void) {
  for (int i = 0; i < 10000; i++) {
    void *volatile p = malloc(100);
    free(p);
  }
}

_Noreturn static void be_strict(void) {
  use_little();
  work_expect(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0, "seccomp");
  use_little();
  if (write(STDOUT_FILENO, "done\n", 5) == 5) syscall(SYS_exit, 0);
  syscall(SYS_exit, 1);
  __builtin_unreachable();
}

static void *free_in_thread(void *unused) {
  use_much();
  return unused;
}

static void use_much_beside_a_thread(void) {
  pthread_t thread;
  work_expect(pthread_create(&thread, NULL, free_in_thread, NULL) == 0, "pthread_create");
  use_much();
  work_expect(pthread_join(thread, NULL) == 0, "pthread_join");
}

static void shut_in_unheard(void) {
  static const struct sock_fprog program = PROGRAM(g_filter_of_threads);
  use_much_beside_a_thread();
  work_expect(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  work_expect(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "seccomp");
  use_much_beside_a_thread();
}

static int g_shut, g_threads;

static void *worker(void *unused) {
  free(malloc(100));
  __atomic_fetch_add(&g_threads, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(&g_shut, __ATOMIC_ACQUIRE)) syscall(SYS_futex, &g_shut, FUTEX_WAIT_PRIVATE, 0, NULL);
  use_much();
  __atomic_fetch_sub(&g_threads, 1, __ATOMIC_RELEASE);
  while (!g_ends) syscall(SYS_futex, &g_shut, FUTEX_WAIT_PRIVATE, 1, NULL);
  return unused;
}

static void with_threads(void) {
  pthread_t thread[2];
  for (int i = 0; i < 2; i++) work_expect(pthread_create(&thread[i], NULL, worker, NULL) == 0, "pthread_create");
  while (__atomic_load_n(&g_threads, __ATOMIC_ACQUIRE) != 2) rest_ms(1);
  shut_in();
  __atomic_store_n(&g_shut, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &g_shut, FUTEX_WAKE_PRIVATE, 2);
  use_much();
  const struct timespec moment = {0, 1000000};
  while (__atomic_load_n(&g_threads, __ATOMIC_ACQUIRE) != 0) syscall(SYS_futex, &g_shut, FUTEX_WAIT_PRIVATE, 1, &moment);
  for (int i = 0; g_ends && i < 2; i++) work_expect(pthread_join(thread[i], NULL) == 0, "pthread_join");
  use_much();
}

int main(int count, char **arguments) {
  const char *how = count == 2 ? arguments[1] : "";
  if (strcmp(how, "forked") == 0) {
    const pid_t child = fork();
    int status = 0;
    if (child != 0) {
      work_expect(waitpid(child, &status, 0) == child && status == 0, "the child failed");
      return 0;
    }
  }
  g_ends = strcmp(how, "ends") == 0;
  if (g_ends || strcmp(how, "threads") == 0) with_threads();
  else if (strcmp(how, "still") == 0) stay_still();
  else if (strcmp(how, "bare") == 0) shut_in_unheard();
  else if (strcmp(how, "strict") == 0) be_strict();
  else shut_in(), use_much();
  work_expect(write(STDOUT_FILENO, "done\n", 5) == 5, "write");
  _exit(0);
}
