/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* call.c: kernel calls without libc.
 *
 * what      The instructions; see call.h. In builds for AddressSanitizer and ThreadSanitizer mmap, munmap, mremap and
 *           madvise go through the runtime's functions of libc's names: the runtime must know each mapping.
 * not here  The kernel's clock without a kernel call: clock.c.
 */
#define _GNU_SOURCE
#include "os/call.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <errno.h>
#include <sys/mman.h>

#include "base/bytes.h"
#endif

enum { SET_BYTES = 8 };

/* ---- a call ---- */

#if defined(__x86_64__)
static inline long ask(long number, long a, long b, long c, long d, long e, long f) {
  register long fourth __asm__("r10") = d, fifth __asm__("r8") = e, sixth __asm__("r9") = f;
  long answer;
  __asm__ volatile("syscall"
                   : "=a"(answer)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return answer;
}

static inline long ask_two(long number, long a, long b) {
  long answer;
  __asm__ volatile("syscall" : "=a"(answer) : "a"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
  return answer;
}
#else
static inline long ask(long number, long a, long b, long c, long d, long e, long f) {
  register long which __asm__("x8") = number, first __asm__("x0") = a, second __asm__("x1") = b;
  register long third __asm__("x2") = c, fourth __asm__("x3") = d, fifth __asm__("x4") = e, sixth __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(first)
                   : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "memory");
  return first;
}

static inline long ask_two(long number, long a, long b) { return ask(number, a, b, 0, 0, 0, 0); }
#endif

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
  if (!of_memory) return ask(number, a, b, c, d, e, f);
  int saved = errno;
  long answer = by_name(number, a, b, c, d, e, f);
  if (answer == -1) answer = -errno;
  errno = saved;
  return answer;
}
#else
long hak_kernel(long number, long a, long b, long c, long d, long e, long f) {
  return ask(number, a, b, c, d, e, f);
}
#endif

int hak_kernel_clock(clockid_t which, struct timespec *out) {
  return (int)ask_two(SYS_clock_gettime, which, (long)out);
}

/* ---- a thread ---- */

/* The new thread starts with the maker's registers except the stack pointer. The code up to begin() uses registers
 * only: the maker's frame must not be touched from the new thread. A frame pointer and a return address of zero end
 * stack traces. */
#if defined(__x86_64__)
long hak_kernel_clone(const struct hak_kernel_thread *thread, void (*begin)(void *), void *argument) {
  register uint32_t *cleared __asm__("r10") = thread->id;
  register char *pointer __asm__("r8") = thread->pointer;
  register void (*function)(void *) __asm__("r9") = begin;
  register void *own __asm__("r12") = argument;
  long answer;
  __asm__ volatile("syscall\n\t"
                   "test %%rax, %%rax\n\t"
                   "jnz 1f\n\t"
                   "xor %%ebp, %%ebp\n\t"
                   "mov %%r12, %%rdi\n\t"
                   "push $0\n\t"
                   "jmp *%%r9\n"
                   "1:"
                   : "=a"(answer)
                   : "a"((long)SYS_clone), "D"(thread->flags), "S"(thread->stack), "d"(thread->id), "r"(cleared),
                     "r"(pointer), "r"(function), "r"(own)
                   : "rcx", "r11", "memory");
  return answer;
}
#else
long hak_kernel_clone(const struct hak_kernel_thread *thread, void (*begin)(void *), void *argument) {
  register long answer __asm__("x0") = (long)thread->flags;
  register char *stack __asm__("x1") = thread->stack;
  register uint32_t *stored __asm__("x2") = thread->id;
  register char *pointer __asm__("x3") = thread->pointer;
  register uint32_t *cleared __asm__("x4") = thread->id;
  register long which __asm__("x8") = SYS_clone;
  register void (*function)(void *) __asm__("x9") = begin;
  register void *own __asm__("x10") = argument;
  __asm__ volatile("svc 0\n\t"
                   "cbnz x0, 1f\n\t"
                   "mov x29, xzr\n\t"
                   "mov x30, xzr\n\t"
                   "mov x0, x10\n\t"
                   "br x9\n"
                   "1:"
                   : "+r"(answer)
                   : "r"(stack), "r"(stored), "r"(pointer), "r"(cleared), "r"(which), "r"(function), "r"(own)
                   : "memory");
  return answer;
}
#endif

/* ---- signals ---- */

/* On x86-64 a signal handler returns into these instructions; unwinders recognise a signal frame by these bytes. */
#if defined(__x86_64__)
#define RESTORER ((unsigned long)0x04000000)
__attribute__((visibility("hidden"))) void hak_kernel_handler_returns(void);
__asm__(".pushsection .text.hak_kernel_handler_returns, \"ax\", @progbits\n\t"
        "nop\n\t"
        ".globl hak_kernel_handler_returns\n\t"
        ".hidden hak_kernel_handler_returns\n\t"
        ".type hak_kernel_handler_returns, @function\n"
        "hak_kernel_handler_returns:\n\t"
        "mov $15, %rax\n\t"
        "syscall\n\t"
        ".size hak_kernel_handler_returns, . - hak_kernel_handler_returns\n\t"
        ".popsection");
_Static_assert(SYS_rt_sigreturn == 15, "hak_kernel_handler_returns");
#else
#define RESTORER 0ul
static void (*const hak_kernel_handler_returns)(void) = NULL;
#endif

long hak_kernel_sigaction(int number, const struct hak_kernel_action *set, struct hak_kernel_action *was) {
  struct hak_kernel_action own;
  if (set != NULL) {
    own = *set;
    own.flags |= RESTORER;
    own.restorer = hak_kernel_handler_returns;
  }
  return HAK_KERNEL(SYS_rt_sigaction, number, set != NULL ? &own : NULL, was, SET_BYTES);
}
