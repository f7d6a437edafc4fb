/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* call.h: kernel calls without libc.
 *
 * what      One function for all kernel calls. libc's wrappers are found by name in the symbol tables: the program or
 *           an interposer may define `clone` or `mmap` with a different meaning, or so that the function calls malloc
 *           or needs a thread made by libc.
 *
 *               HAK_KERNEL(SYS_close, descriptor) ---> hak_kernel(SYS_close, descriptor, 0, 0, 0, 0, 0) ---> the kernel
 *
 * locks     None. Thread-safe and signal-safe; no call is a cancellation point.
 * failure   Returns a negative errno; the variable errno is not touched.
 * not here  The choice of the calls: the rest of src/os, which alone may call hak_kernel (layers.txt).
 */
#ifndef HAK_OS_CALL_H
#define HAK_OS_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

/* Out of line: tests link a kernel that refuses instead. */
long hak_kernel(long number, long a, long b, long c, long d, long e, long f);

/* Up to six arguments, integers or pointers; missing arguments are 0. */
#define HAK_KERNEL(...) HAK_KERNEL_FILLED(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define HAK_KERNEL_FILLED(number, a, b, c, d, e, f, ...) \
  hak_kernel((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* clock_gettime, by far the most frequent call where there is no vdso: only two arguments are loaded. */
int hak_kernel_clock(clockid_t which, struct timespec *out);

/* True if the answer of a call that returns an address or a number is a negative errno. */
static inline bool hak_kernel_refused(long answer) { return (unsigned long)answer > -4096ul; }

/* The start state of a thread. */
struct hak_kernel_thread {
  unsigned long flags; /* CLONE_* */
  char *stack;         /* the stack's upper end, a multiple of 16 */
  char *pointer;       /* the thread pointer: thread-local storage lies around this address */
  uint32_t *id;        /* by CLONE_PARENT_SETTID the thread's number, by CLONE_CHILD_CLEARTID 0 at the end */
};

/* Starts a thread that calls begin(argument); begin must not return. Returns the thread's number or a negative
 * errno. */
long hak_kernel_clone(const struct hak_kernel_thread *thread, void (*begin)(void *), void *argument);

/* The kernel's form of struct sigaction. */
struct hak_kernel_action {
  void *handler; /* or SIG_DFL, SIG_IGN */
  unsigned long flags;
  void (*restorer)(void);
  uint64_t mask;
};

/* Installs *set and stores the previous action in *was; either pointer may be NULL. */
long hak_kernel_sigaction(int number, const struct hak_kernel_action *set, struct hak_kernel_action *was);

#endif
