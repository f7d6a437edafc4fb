/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fork_in_event.c HOW STRIDE: forks at chosen instructions of calls that are traced. The processor stops after each
 * instruction of a call, and at every STRIDEth instruction of the library the handler forks. The child continues when
 * its parent is past that call and has made more calls, makes some calls and ends. Some call sites are new to the
 * recorder.
 *   fork      by fork, whose hooks notice the fork
 *   bare      by _Fork, which no hook notices
 *   inside    and the child's handler makes a call, too; if the call interrupts the allocator itself, the child ends
 *   beside    and more threads of the parent start, make calls and end before the interrupted call continues
 * HOW is `fork` or `bare`, or a pair as bare_inside. Prints the numbers of calls and of children. x86-64 only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

#include "workload.h"

enum { TRAP_FLAG = 1 << 8, ROUNDS = 6, PLACE_BYTES = 64 << 10, CHILDS_CALLS = 20, MOST_WAITING = 4096,
  MOMENT_NS = 20000000, NS_PER_SECOND = 1000000000 };

static struct {
  bool bare, inside, beside, in_child;
  sem_t wanted, made; /* threads */
  int late;
  volatile long *ended;    /* calls that the first process has made, shared with the children */
  pid_t first, waiting[MOST_WAITING];
  struct dl_find_object served_by;
  long stride, steps, children, all, calls;
} g_fork;

static void *call_inside(void) {
  void *volatile p = malloc(40);
  free(p);
  return p;
}

static void make_calls(void) {
  for (int i = 0; i < CHILDS_CALLS; i++) call_inside();
}

/* Continues when the parent is past the call and has made more calls. */
static void in_child(void) {
  g_fork.in_child = true;
  alarm(60);
  while (*g_fork.ended == g_fork.calls && getppid() == g_fork.first) usleep(1000);
  if (!g_fork.inside) return;
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDERR_FILENO);
  call_inside();
}

static void reap(pid_t child) {
  int status = 1;
  work_expect(waitpid(child, &status, 0) == child, "no child");
  const bool refused = g_fork.inside && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  if (status != 0 && !refused) dprintf(STDERR_FILENO, "child's status: %#x\n", (unsigned)status);
  work_expect(status == 0 || refused, "a child failed");
}

static void reap_all(void) {
  for (long n = 0; n < g_fork.children; n++) reap(g_fork.waiting[n]);
  g_fork.all += g_fork.children;
  g_fork.children = 0;
}

/* From there on signals are blocked; a blocked SIGTRAP would end the process. */
static bool blocks_signals(const greg_t *registers) {
  static const uint8_t syscall_code[] = {0x0f, 0x05};
  return registers[REG_RAX] == SYS_rt_sigprocmask && memcmp((void *)registers[REG_RIP], syscall_code, 2) == 0;
}

/* A clock reading that is interrupted for long starts again, and would for ever. */
static bool is_in_library(greg_t at) {
  return (void *)at >= g_fork.served_by.dlfo_map_start && (void *)at < g_fork.served_by.dlfo_map_end;
}

/* Threads that begin, make calls and end, while the call is interrupted. */
static void *make_calls_once(void *unused) {
  make_calls();
  return unused;
}

static void *make_threads(void *unused) {
  for (;;) {
    pthread_t thread;
    while (sem_wait(&g_fork.wanted) != 0) continue;
    work_expect(pthread_create(&thread, NULL, make_calls_once, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
    sem_post(&g_fork.made);
  }
  return unused;
}

/* For a moment only: the second thread may wait for a lock that the call holds. */
static void let_another_thread_run(void) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_nsec += MOMENT_NS;
  if (end.tv_nsec >= NS_PER_SECOND) end.tv_sec++, end.tv_nsec -= NS_PER_SECOND;
  sem_post(&g_fork.wanted);
  if (sem_timedwait(&g_fork.made, &end) != 0) g_fork.late++;
}

static void wait_for_other_threads(void) {
  for (; g_fork.late > 0; g_fork.late--) sem_wait(&g_fork.made);
}

static void fork_here(void) {
  const pid_t child = g_fork.bare ? _Fork() : fork();
  if (child == 0) {
    in_child();
    return;
  }
  work_expect(child > 0 && g_fork.children < MOST_WAITING, "no child");
  g_fork.waiting[g_fork.children++] = child;
  if (g_fork.beside) let_another_thread_run();
}

static void step(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  const int saved = errno;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  if (blocks_signals(registers)) registers[REG_EFL] &= ~TRAP_FLAG;
  const bool due = is_in_library(registers[REG_RIP]) && g_fork.steps++ % g_fork.stride == 0;
  if (due && !g_fork.in_child) fork_here();
  if (g_fork.in_child) registers[REG_EFL] &= ~TRAP_FLAG;
  errno = saved;
}

static void set_trap(void) { __asm__ volatile("pushfq; orq $256, (%%rsp); popfq" ::: "memory", "cc"); }
static void drop_trap(void) { __asm__ volatile("pushfq; andq $-257, (%%rsp); popfq" ::: "memory", "cc"); }

static void finish_child(void) {
  make_calls();
  _exit(0);
}

/* Makes a function, at a new address, that calls `called` with the same argument. */
static void *(*new_caller(void *called))(uintptr_t) {
  static const uint8_t begin[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0xb8};
  static const uint8_t end[] = {0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
  uint8_t *code = mmap(NULL, 2 * PLACE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  work_expect(code != MAP_FAILED, "no memory for code");
  memcpy(code, begin, sizeof begin);                    /* sub rsp, 8; mov rax, */
  memcpy(code + sizeof begin, &called, sizeof called);  /* called */
  memcpy(code + sizeof begin + sizeof called, end, sizeof end); /* call rax; add rsp, 8; ret */
  return (void *(*)(uintptr_t))(uintptr_t)code;
}

static void *stepped(void *(*caller)(uintptr_t), uintptr_t argument) {
  set_trap();
  void *p = caller(argument);
  drop_trap();
  if (g_fork.in_child) finish_child();
  wait_for_other_threads();
  make_calls();
  *g_fork.ended = ++g_fork.calls;
  reap_all();
  return p;
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  g_fork.first = getpid();
  g_fork.bare = strstr(arguments[1], "bare") != NULL;
  g_fork.inside = strstr(arguments[1], "inside") != NULL;
  g_fork.ended = mmap(NULL, sizeof *g_fork.ended, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  work_expect(_dl_find_object((void *)(uintptr_t)malloc, &g_fork.served_by) == 0, "where is malloc?");
  g_fork.beside = strstr(arguments[1], "beside") != NULL;
  pthread_t threads;
  if (g_fork.beside) work_expect(pthread_create(&threads, NULL, make_threads, NULL) == 0, "no thread");
  g_fork.stride = atol(arguments[2]);
  const struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
  work_expect(g_fork.stride > 0 && sigaction(SIGTRAP, &action, NULL) == 0, "sigaction");
  work(1); /* the first call of a process calls the loader */
  void *(*get)(uintptr_t) = new_caller((void *)(uintptr_t)malloc);
  void *(*put)(uintptr_t) = new_caller((void *)(uintptr_t)free);
  for (int round = 0; round < ROUNDS; round++) {
    void *p = stepped(round % 2 ? get : new_caller((void *)(uintptr_t)malloc), 50);
    stepped(put, (uintptr_t)p);
  }
  printf("%ld calls, %ld children\n", g_fork.calls, g_fork.all);
  return 0;
}
