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
#include <unistd.h>

bool hak_os_catch(int number, void (*handler)(int)) {
  struct sigaction is, own = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK};
  int saved = errno;
  sigfillset(&own.sa_mask);
  bool free = sigaction(number, NULL, &is) == 0 && !(is.sa_flags & SA_SIGINFO) && is.sa_handler == SIG_DFL;
  bool done = free && sigaction(number, &own, NULL) == 0;
  errno = saved;
  return done;
}

void hak_os_die_of(int number) {
  struct sigaction usual = {.sa_handler = SIG_DFL};
  sigaction(number, &usual, NULL);
  syscall(SYS_kill, getpid(), number);
}

/* The set of signals is read before it is seen that nothing is to be done with it, as in abseil's AddressIsReadable. */
bool hak_os_is_readable(const void *p) {
  enum { NO_SUCH_HOW = -1, SET_BYTES = 8 };
  int saved = errno;
  bool fault = syscall(SYS_rt_sigprocmask, NO_SUCH_HOW, p, NULL, SET_BYTES) != 0 && errno == EFAULT;
  errno = saved;
  return !fault;
}
