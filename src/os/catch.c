/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* catch.c: signals that the program left alone.
 *
 * what      See catch.h.
 */
#define _GNU_SOURCE
#include "os/catch.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bits.h"

static bool install(int number, struct sigaction *own) {
  struct sigaction is;
  int saved = errno;
  own->sa_flags |= SA_RESTART | SA_ONSTACK;
  sigfillset(&own->sa_mask);
  bool free = sigaction(number, NULL, &is) == 0 && !(is.sa_flags & SA_SIGINFO) && is.sa_handler == SIG_DFL;
  bool done = free && sigaction(number, own, NULL) == 0;
  errno = saved;
  return done;
}

bool hak_os_catch(int number, void (*handler)(int)) {
  struct sigaction own = {.sa_handler = handler};
  return install(number, &own);
}

static void leave_to_default(int number) {
  struct sigaction usual = {.sa_handler = SIG_DFL};
  sigaction(number, &usual, NULL);
}

void hak_os_die_of(int number) {
  leave_to_default(number);
  syscall(SYS_kill, getpid(), number);
}

/* ---- crashes ---- */

static HAK_RARE struct {
  void (*report)(const struct hak_os_crash *);
  uint64_t begun, done; /* in which process; 0: none */
} g_crash;

/* Of threads that crash together one reports; the others would end the process meanwhile. A child of vfork, which has
 * this memory, too, leaves its parent the report that is the parent's. */
static void report_once(const struct hak_os_crash *crash) {
  enum { TRIES = 100, PAUSE_NS = 10000000 };
  uint64_t process = (uint64_t)syscall(SYS_getpid);
  if (__atomic_exchange_n(&g_crash.begun, process, __ATOMIC_ACQ_REL) != process) {
    g_crash.report(crash);
    hak_store_release(&g_crash.done, process);
  }
  struct timespec pause = {.tv_nsec = PAUSE_NS};
  for (int i = 0; i < TRIES && hak_load_acquire(&g_crash.done) != process; i++) syscall(SYS_nanosleep, &pause, NULL);
}

/* The instruction, and what it wanted. */
#if defined(__x86_64__)
enum { FAULT_OF_WRITE = 2 };
static void note_machine(const ucontext_t *context, struct hak_os_crash *crash) {
  crash->instruction = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
  crash->writes = (context->uc_mcontext.gregs[REG_ERR] & FAULT_OF_WRITE) != 0;
  crash->reads = !crash->writes;
}
#else
static void note_machine(const ucontext_t *context, struct hak_os_crash *crash) {
  crash->instruction = (uintptr_t)context->uc_mcontext.pc;
}
#endif

/* Broken memory of which the kernel tells a thread that did not touch it is no fault of its instruction. */
static bool is_fault(const siginfo_t *info) {
  bool sent = info->si_code <= 0 || info->si_signo == SIGABRT;
  return !sent && !(info->si_signo == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

/* A report to a pipe that nobody has open any more must not become what ends the process: SIGPIPE waits. */
static void hold_back_pipe(ucontext_t *context) { sigaddset(&context->uc_sigmask, SIGPIPE); }

static void crashed(int number, siginfo_t *info, void *context) {
  pid_t thread = (pid_t)syscall(SYS_gettid);
  struct hak_os_crash crash = {.signal = number, .is_fault = is_fault(info), .address = info->si_addr};
  crash.has_address = crash.is_fault && info->si_code != SI_KERNEL;
  crash.thread = (uint64_t)thread;
  note_machine(context, &crash);
  report_once(&crash);
  hold_back_pipe(context);
  leave_to_default(number);
  if (!crash.is_fault) syscall(SYS_tgkill, getpid(), thread, number);
}

bool hak_os_catch_crash(int number, void (*report)(const struct hak_os_crash *)) {
  struct sigaction own = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO};
  g_crash.report = report;
  return install(number, &own);
}

/* ---- memory ---- */

/* The set of signals is read before it is seen that nothing is to be done with it, as in abseil's AddressIsReadable. */
bool hak_os_is_readable(const void *p) {
  enum { NO_SUCH_HOW = -1, SET_BYTES = 8 };
  int saved = errno;
  bool fault = syscall(SYS_rt_sigprocmask, NO_SUCH_HOW, p, NULL, SET_BYTES) != 0 && errno == EFAULT;
  errno = saved;
  return !fault;
}
