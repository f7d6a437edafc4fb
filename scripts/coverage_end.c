/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* coverage_end.c: gcc's counters of a library whose process ends by a signal.
 *
 * what      Linked into each shared library of build/coverage (coverage.sh). gcc writes counters at exit; a wrong free or
 *           a crash ends without one. So they are written as soon as the library sends its process a signal, or restores
 *           a signal's default action.
 * not here  Programs that hold HAKMEM statically.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "os/call.h"

#define HIDDEN __attribute__((visibility("hidden")))

void __gcov_dump(void);
__attribute__((weak)) long __real_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
__attribute__((weak)) long __real_hak_kernel_sigaction(int number, const struct hak_kernel_action *set,
                                                       struct hak_kernel_action *was);
HIDDEN long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
HIDDEN long __wrap_hak_kernel_sigaction(int number, const struct hak_kernel_action *set, struct hak_kernel_action *was);

static void dump_once(void) {
  static bool dumped;
  if (!__atomic_exchange_n(&dumped, true, __ATOMIC_RELAXED)) __gcov_dump();
}

long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f) {
  if (number == SYS_tgkill || number == SYS_kill) dump_once();
  return __real_hak_kernel(number, a, b, c, d, e, f);
}

long __wrap_hak_kernel_sigaction(int number, const struct hak_kernel_action *set, struct hak_kernel_action *was) {
  if (set != NULL && set->handler == (void *)SIG_DFL) dump_once();
  return __real_hak_kernel_sigaction(number, set, was);
}
