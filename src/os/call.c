/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* call.c: kernel calls without libc.
 *
 * what      See call.h; the instructions: arch/arch.h. In builds for AddressSanitizer and ThreadSanitizer mmap, munmap,
 *           mremap and madvise go through the runtime's functions of libc's names: the runtime must know each mapping.
 * not here  The kernel's clock without a kernel call: clock.c.
 */
#define _GNU_SOURCE
#include "os/call.h"

#include "arch/arch.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <errno.h>
#include <sys/mman.h>

#include "base/bytes.h"
#endif

enum { SET_BYTES = 8 };

/* ---- a call ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static long by_name(long number, long a, long b, long c, long d, long e, long f) {
  switch (number) {
    case SYS_mmap: return (long)mmap((void *)a, (size_t)b, (int)c, (int)d, (int)e, f);
    case SYS_munmap: return munmap((void *)a, (size_t)b);
    case SYS_mremap: return (long)mremap((void *)a, (size_t)b, (size_t)c, (int)d, (void *)e);
    default: return madvise((void *)a, (size_t)b, (int)c);
  }
}

long hak_kernel(long number, long a, long b, long c, long d, long e, long f) {
  bool of_memory = number == SYS_mmap || number == SYS_munmap || number == SYS_mremap || number == SYS_madvise;
  if (!of_memory) return hak_arch_ask(number, a, b, c, d, e, f);
  int saved = errno;
  long answer = by_name(number, a, b, c, d, e, f);
  if (answer == -1) answer = -errno;
  errno = saved;
  return answer;
}
#else
long hak_kernel(long number, long a, long b, long c, long d, long e, long f) {
  return hak_arch_ask(number, a, b, c, d, e, f);
}
#endif

int hak_kernel_clock(clockid_t which, struct timespec *out) {
  return (int)hak_arch_ask_two(SYS_clock_gettime, which, (long)out);
}

/* ---- a thread ---- */

long hak_kernel_clone(const struct hak_kernel_thread *thread, void (*begin)(void *), void *argument) {
  return hak_arch_clone(SYS_clone, thread->flags, thread->stack, thread->id, thread->pointer, begin, argument);
}

/* ---- signals ---- */

HAK_ARCH_HANDLER_RETURNS;

long hak_kernel_sigaction(int number, const struct hak_kernel_action *set, struct hak_kernel_action *was) {
  struct hak_kernel_action own;
  if (set != NULL) {
    own = *set;
    own.flags |= HAK_ARCH_RESTORER;
    own.restorer = hak_kernel_handler_returns;
  }
  return HAK_KERNEL(SYS_rt_sigaction, number, set != NULL ? &own : NULL, was, SET_BYTES);
}
