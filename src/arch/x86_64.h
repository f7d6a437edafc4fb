/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* x86_64.h: the processor x86-64.
 *
 * what      See arch.h.
 */
#ifndef HAK_ARCH_X86_64_H
#define HAK_ARCH_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HAK_ARCH_CLOCK "__vdso_clock_gettime"
#define HAK_ARCH_FIRST_LIBC "GLIBC_2.2.5"

/* ---- memory ---- */

#define hak_pause() __builtin_ia32_pause()

/* Changes *p from 0 to v, in a process with a single thread. False: *p is not 0. One instruction without a lock prefix,
 * which always writes: an untouched page faults once, and not first for a read. */
static inline bool hak_set_unshared(uint64_t *p, uint64_t v) {
  uint64_t seen = 0;
  bool done;
  __asm__ volatile("cmpxchgq %3, %1" : "=@ccz"(done), "+m"(*p), "+a"(seen) : "r"(v) : "memory");
  return done;
}

/* Stores v in *p, which only this thread and its signal handlers change; returns what was there. */
static inline uint64_t hak_arch_exchange_own(uint64_t *p, uint64_t v) {
  uint64_t seen = *(volatile uint64_t *)p;
  for (bool done = false; !done;) {
    __asm__ volatile("cmpxchgq %3, %1" : "=@ccz"(done), "+m"(*p), "+a"(seen) : "r"(v) : "memory");
  }
  return seen;
}

/* Reads the block below top, and only then lowers *at, which is top, past that block. Compilers would copy a register
 * for this order. */
static inline void *hak_arch_pop(void ***at, void **top) {
  void *p;
  __asm__("movq %3, %0\n\tsubq $8, %1\n\tmovq %1, %2" : "=&r"(p), "+r"(top), "=m"(*at) : "m"(top[-1]) : "cc");
  return p;
}

/* ---- threads ---- */

static inline char *hak_arch_pointer(void) {
  char *pointer;
  __asm__("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

/* The thread pointer points to itself, and compilers read the thread pointer there. */
static inline void hak_arch_link(char *pointer) {
  uintptr_t *tcb = (uintptr_t *)(void *)pointer;
  tcb[0] = tcb[2] = (uintptr_t)pointer;
}

/* 1: free reads its variable of the thread before all else. Read behind the range's words it made pairs of malloc and
 * free take 6.7 ns instead of 3.8 on an Intel processor of 2021. */
#define HAK_ARCH_THREAD_FIRST 1

/* A variable of the thread: one instruction reads its distance from the thread pointer. `distance` is not needed. */
#define HAK_ARCH_OF_THREAD(variable, distance) (variable)
/* p, an address of the library's data: each instruction can name such an address. */
#define HAK_ARCH_NEAR_ALIGN
#define HAK_ARCH_NEAR(p) (p)

/* ---- kernel calls ---- */

static inline long hak_arch_ask(long number, long a, long b, long c, long d, long e, long f) {
  register long fourth __asm__("r10") = d, fifth __asm__("r8") = e, sixth __asm__("r9") = f;
  long answer;
  __asm__ volatile("syscall"
                   : "=a"(answer)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return answer;
}

static inline long hak_arch_ask_two(long number, long a, long b) {
  long answer;
  __asm__ volatile("syscall" : "=a"(answer) : "a"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
  return answer;
}

/* The new thread starts with the maker's registers except the stack pointer. The code up to begin() uses registers
 * only: the maker's frame must not be touched from the new thread. A frame pointer and a return address of zero end
 * stack traces. `number` is that of the call clone. */
static inline long hak_arch_clone(long number, unsigned long flags, char *stack, uint32_t *id, char *thread_pointer,
                                  void (*begin)(void *), void *argument) {
  register uint32_t *cleared __asm__("r10") = id;
  register char *pointer __asm__("r8") = thread_pointer;
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
                   : "a"(number), "D"(flags), "S"(stack), "d"(id), "r"(cleared), "r"(pointer), "r"(function), "r"(own)
                   : "rcx", "r11", "memory");
  return answer;
}

/* ---- frames of calls ---- */

/* DWARF's numbers of registers: frame pointer, stack pointer, a further register in which code keeps its frame, return
 * address. */
enum { HAK_ARCH_DWARF_FP = 6, HAK_ARCH_DWARF_SP = 7, HAK_ARCH_DWARF_OTHER = 3, HAK_ARCH_DWARF_RETURN = 16 };

/* A call writes the return address just below the caller's frame. */
#define HAK_ARCH_CALL_PUSHES true

/* Bytes from the stack pointer of a signal handler's return to the interrupted registers. */
enum { HAK_ARCH_SIGNAL_FP = 120, HAK_ARCH_SIGNAL_OTHER = 128, HAK_ARCH_SIGNAL_SP = 160, HAK_ARCH_SIGNAL_PC = 168 };

/* mov $15, %rax; syscall: what a signal handler returns to. */
#define HAK_ARCH_SIGNAL_CODE {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05}

/* This instruction's address and its registers. */
#define HAK_ARCH_HERE(pc, sp, fp, other)                                                \
  __asm__ volatile("lea 0f(%%rip), %0; mov %%rsp, %1; mov %%rbp, %2; mov %%rbx, %3\n0:" \
                   : "=&r"(pc), "=&r"(sp), "=&r"(fp), "=&r"(other))

static inline uintptr_t hak_arch_unsigned(uintptr_t pointer) { return pointer; }

/* ---- signals ---- */

/* A signal handler returns into these instructions, which ask for rt_sigreturn; unwinders recognise a signal frame by
 * these bytes. */
#define HAK_ARCH_RESTORER ((unsigned long)0x04000000)
__attribute__((visibility("hidden"))) void hak_kernel_handler_returns(void);
#define HAK_ARCH_HANDLER_RETURNS                                               \
  __asm__(".pushsection .text.hak_kernel_handler_returns, \"ax\", @progbits\n\t" \
          "nop\n\t"                                                            \
          ".globl hak_kernel_handler_returns\n\t"                              \
          ".hidden hak_kernel_handler_returns\n\t"                             \
          ".type hak_kernel_handler_returns, @function\n"                      \
          "hak_kernel_handler_returns:\n\t"                                    \
          "mov $15, %rax\n\t"                                                  \
          "syscall\n\t"                                                        \
          ".size hak_kernel_handler_returns, . - hak_kernel_handler_returns\n\t" \
          ".popsection");                                                      \
  _Static_assert(SYS_rt_sigreturn == 15, "hak_kernel_handler_returns")

/* Of a handler's ucontext_t. */
enum hak_arch_access { HAK_ARCH_UNKNOWN, HAK_ARCH_READS, HAK_ARCH_WRITES };
#define HAK_ARCH_INSTRUCTION(context) ((uintptr_t)(context)->uc_mcontext.gregs[REG_RIP])
#define HAK_ARCH_ACCESS(context) (((context)->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? HAK_ARCH_WRITES : HAK_ARCH_READS)

#endif
