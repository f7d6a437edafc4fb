/* sandbox.c HOW: a program that forbids itself all kernel calls but those that glibc's malloc makes, read, write and the
 * ends of threads and processes, and then uses much memory. A call that is not allowed ends the process.
 *   alone     of one thread
 *   threads   two threads are there before, and are shut in, too
 *   forked    as alone, and the child of a fork goes on */
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
static const struct sock_fprog g_program = {sizeof g_filter / sizeof g_filter[0], g_filter};

static void shut_in(void) {
  work_expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  work_expect(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &g_program) == 0, "seccomp");
}

/* Everything that slow doors, ageing and trims do, far beyond the sizes at which limits are looked at. */
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

static int g_shut, g_threads;

static void *worker(void *unused) {
  free(malloc(100));
  __atomic_fetch_add(&g_threads, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(&g_shut, __ATOMIC_ACQUIRE)) syscall(SYS_futex, &g_shut, FUTEX_WAIT_PRIVATE, 0, NULL);
  use_much();
  __atomic_fetch_sub(&g_threads, 1, __ATOMIC_RELEASE);
  for (;;) syscall(SYS_futex, &g_shut, FUTEX_WAIT_PRIVATE, 1, NULL);
  return unused;
}

static void with_threads(void) {
  pthread_t thread;
  for (int i = 0; i < 2; i++) work_expect(pthread_create(&thread, NULL, worker, NULL) == 0, "pthread_create");
  while (__atomic_load_n(&g_threads, __ATOMIC_ACQUIRE) != 2) rest_ms(1);
  shut_in();
  __atomic_store_n(&g_shut, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &g_shut, FUTEX_WAKE_PRIVATE, 2);
  use_much();
  const struct timespec moment = {0, 1000000};
  while (__atomic_load_n(&g_threads, __ATOMIC_ACQUIRE) != 0) syscall(SYS_futex, &g_shut, FUTEX_WAIT_PRIVATE, 1, &moment);
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
  if (strcmp(how, "threads") == 0) with_threads();
  else shut_in(), use_much();
  work_expect(write(STDOUT_FILENO, "done\n", 5) == 5, "write");
  _exit(0);
}
