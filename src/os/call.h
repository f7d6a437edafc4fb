/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* call.h: kernel calls without libc.
 *
 * what      One function that asks the kernel. libc's functions of these names are reached through the table of
 *           symbols, where the program's own `clone` or `mmap` or an interposer's may stand in front of them: of
 *           another meaning, or calling malloc, or in need of a thread that libc made.
 *
 *               HAK_KERNEL(SYS_close, descriptor) ---> hak_kernel(SYS_close, descriptor, 0, 0, 0, 0, 0) ---> the kernel
 *
 * locks     None. Thread-safe and signal-safe, and no point where a thread is cancelled.
 * failure   An errno, negative; errno itself is not touched.
 * not here  What to ask for: the other files of this layer, which are the only ones that call it (layers.txt).
 */
#ifndef HAK_OS_CALL_H
#define HAK_OS_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

/* Out of line: tests put a kernel that refuses in its place. */
long hak_kernel(long number, long a, long b, long c, long d, long e, long f);

/* Up to six arguments, pointers among them. */
#define HAK_KERNEL(...) HAK_KERNEL_FILLED(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define HAK_KERNEL_FILLED(number, a, b, c, d, e, f, ...) \
  hak_kernel((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* The clock, which is asked far more often than anything else where there is no vdso. */
int hak_kernel_clock(clockid_t which, struct timespec *out);

/* An answer that is an address or a number: is it an error? */
static inline bool hak_kernel_refused(long answer) { return (unsigned long)answer > -4096ul; }

/* What a thread begins with. */
struct hak_kernel_thread {
  unsigned long flags; /* of clone */
  char *stack;         /* its end, a multiple of 16 */
  char *pointer;       /* to its thread-local storage */
  uint32_t *id;        /* set in the parent and cleared at the end, where the flags say so */
};

/* A thread that calls begin(argument), which must not return. Its number. */
long hak_kernel_clone(const struct hak_kernel_thread *thread, void (*begin)(void *), void *argument);

/* What the kernel knows of a signal's handler. */
struct hak_kernel_action {
  void *handler; /* SIG_DFL and SIG_IGN among them */
  unsigned long flags;
  void (*restorer)(void);
  uint64_t mask;
};

/* Sets the handler and tells which was set; either may be NULL. */
long hak_kernel_sigaction(int number, const struct hak_kernel_action *set, struct hak_kernel_action *was);

#endif
