/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* catch.c: handlers for signals that the program left at the default action.
 *
 * what      See catch.h.
 */
#define _GNU_SOURCE
#include "os/catch.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/call.h"
#include "os/os.h"
#include "os/seal.h"

enum { SET_BYTES = 8 };

static bool install_handler(int number, void *handler, unsigned long flags) {
  struct hak_kernel_action own = {handler, flags | SA_RESTART | SA_ONSTACK, NULL, ~(uint64_t)0}, is;
  bool free = hak_kernel_sigaction(number, NULL, &is) == 0 && is.handler == (void *)SIG_DFL;
  return free && hak_kernel_sigaction(number, &own, NULL) == 0;
}

bool hak_os_catch(int number, void (*handler)(int)) { return install_handler(number, (void *)handler, 0); }

static void leave_to_default(int number) {
  struct hak_kernel_action usual = {(void *)SIG_DFL, 0, NULL, 0};
  hak_kernel_sigaction(number, &usual, NULL);
}

void hak_os_die_of(int number) {
  leave_to_default(number);
  HAK_KERNEL(SYS_kill, hak_os_process_id(), number);
}

static void raise_here(int number) { HAK_KERNEL(SYS_tgkill, hak_os_process_id(), hak_os_thread_id(), number); }

static void unblock(int number) {
  uint64_t set = (uint64_t)1 << (number - 1);
  HAK_KERNEL(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, SET_BYTES);
}

/* The steps of libc's abort, whose name the program may have defined. A handler of SIGABRT may jump away; if the
 * handler returns, the default action ends the process. */
void hak_os_abort(bool unheard) {
  if (unheard) leave_to_default(SIGABRT);
  unblock(SIGABRT);
  raise_here(SIGABRT);
  leave_to_default(SIGABRT);
  unblock(SIGABRT);
  raise_here(SIGABRT);
  HAK_KERNEL(SYS_exit_group, 127);
  __builtin_trap();
}

/* ---- crashes ---- */

typedef void report_function(const struct hak_os_crash *);

static HAK_SEALED_OR_RARE report_function *g_crash_report;
static HAK_RARE struct {
  uint64_t begun, done; /* id of the process; 0: none */
} g_crash;

/* The first thread to crash reports. Further threads that crash wait, at most 1 s: the default action would end the
 * process before the report is complete. A child of vfork shares this memory: by the process id a report of the child
 * does not use up the parent's report. */
static void report_once(const struct hak_os_crash *crash) {
  enum { TRIES = 100, PAUSE_NS = 10000000 };
  uint64_t process = hak_os_process_id();
  if (hak_swap_acq_rel(&g_crash.begun, process) != process) {
    hak_load(&g_crash_report)(crash);
    hak_store_release(&g_crash.done, process);
  }
  struct timespec pause = {.tv_nsec = PAUSE_NS};
  for (int i = 0; i < TRIES && hak_load_acquire(&g_crash.done) != process; i++) HAK_KERNEL(SYS_nanosleep, &pause, NULL);
}

/* Notes the address of the instruction and, where the machine tells, whether the access was a read or a write. */
static void note_machine(const ucontext_t *context, struct hak_os_crash *crash) {
  enum hak_arch_access access = HAK_ARCH_ACCESS(context);
  crash->instruction = HAK_ARCH_INSTRUCTION(context);
  crash->writes = access == HAK_ARCH_WRITES;
  crash->reads = access == HAK_ARCH_READS;
}

/* False for a signal that was sent, and for a memory error that the kernel reports to a thread that did not touch the
 * memory (BUS_MCEERR_AO). */
static bool is_fault(const siginfo_t *info) {
  bool sent = info->si_code <= 0 || info->si_signo == SIGABRT;
  return !sent && !(info->si_signo == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

/* Keeps SIGPIPE blocked after the handler: a report into a pipe without a reader must not change the signal that ends
 * the process. */
static void hold_back_pipe(ucontext_t *context) {
  *(unsigned long *)(void *)&context->uc_sigmask |= 1ul << (SIGPIPE - 1);
}

static void crashed(int number, siginfo_t *info, void *context) {
  struct hak_os_crash crash = {.signal = number, .is_fault = is_fault(info), .address = info->si_addr};
  crash.has_address = crash.is_fault && info->si_code != SI_KERNEL;
  crash.thread = hak_os_thread_id();
  note_machine(context, &crash);
  report_once(&crash);
  hold_back_pipe(context);
  leave_to_default(number);
  if (!crash.is_fault) raise_here(number);
}

bool hak_os_catch_crash(int number, void (*report)(const struct hak_os_crash *)) {
  enum hak_seal_state seal = hak_unseal();
  if (seal != HAK_SEAL_SHUT) hak_store(&g_crash_report, report);
  hak_reseal(seal);
  return install_handler(number, (void *)crashed, SA_SIGINFO);
}

/* ---- memory ---- */

/* rt_sigprocmask reads the 8 bytes of the set before `how` is found invalid: EFAULT if p is unreadable, else EINVAL.
 * The method of abseil's AddressIsReadable. */
bool hak_os_is_readable(const void *p) {
  enum { NO_SUCH_HOW = -1 };
  return HAK_KERNEL(SYS_rt_sigprocmask, NO_SUCH_HOW, p, NULL, SET_BYTES) != -EFAULT;
}

/* A wait of no time for the word to change: it is over at once, whatever the word is. */
bool hak_os_is_readable_bare(const void *p) {
  static const struct timespec at_once;
  enum { HARDLY = 0x5a17c3e9 };
  return hak_os_is_strict() || HAK_KERNEL(SYS_futex, p, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, HARDLY, &at_once) != -EFAULT;
}
