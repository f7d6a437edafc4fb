/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* inside_malloc.h: runs a function while malloc is inside the kernel.
 *
 * what      A seccomp filter turns chosen system calls into SIGSYS. The handler runs between the allocator's
 *           instructions, as any signal handler might, calls the program's function once, then makes the system call
 *           itself and stores the result for the allocator. No luck, no timer: every run is the same.
 *
 *               malloc -> slow path -> mmap =SIGSYS=> handler -> interrupted() ... real mmap -> back into the slow path
 *
 * owner     t_inside, one per thread: the awaited system call and the function to call. Other calls pass through.
 * failure   A kernel without seccomp ends the program with exit status 2 and one line.
 * not here  The functions: fork_in_malloc.c, tests/wrongfree/reentry.c.
 */
#ifndef HAK_TESTS_PROCESS_INSIDE_MALLOC_H
#define HAK_TESTS_PROCESS_INSIDE_MALLOC_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static __thread struct {
  volatile long call; /* the awaited system call; -1: none. volatile: a handler changes the value */
  void (*volatile interrupted)(void);
} t_inside = {.call = -1};

/* A system call from an address that the filter lets pass. */
#ifdef __x86_64__
__asm__(
    ".text\n"
    ".type inside_pass, @function\n"
    "inside_pass:\n"
    "  mov %rdi, %rax\n  mov %rsi, %rdi\n  mov %rdx, %rsi\n  mov %rcx, %rdx\n"
    "  mov %r8, %r10\n  mov %r9, %r8\n  mov 8(%rsp), %r9\n  syscall\n"
    "inside_passed:\n"
    "  ret\n");
#else
__asm__(
    ".text\n"
    ".type inside_pass, %function\n"
    "inside_pass:\n"
    "  mov x8, x0\n  mov x0, x1\n  mov x1, x2\n  mov x2, x3\n  mov x3, x4\n  mov x4, x5\n  mov x5, x6\n  svc #0\n"
    "inside_passed:\n"
    "  ret\n");
#endif
long inside_pass(long number, long a, long b, long c, long d, long e, long f);
/* Hidden, as binutils 2.40 drops the offset of a local symbol in AArch64's table of addresses: the address read
 * would be that of inside_pass, no call would pass, and the handler would call itself until the stack ends. */
extern const char inside_passed[] __attribute__((visibility("hidden")));

/* Makes the trapped system call, whose arguments are in the interrupted registers, and stores the answer there. */
#ifdef __x86_64__
static inline void inside_repeat(long number, mcontext_t *interrupted) {
  greg_t *r = interrupted->gregs;
  r[REG_RAX] = inside_pass(number, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]);
}
#else
static inline void inside_repeat(long number, mcontext_t *interrupted) {
  unsigned long long *r = interrupted->regs;
  r[0] = (unsigned long long)inside_pass(number, (long)r[0], (long)r[1], (long)r[2], (long)r[3], (long)r[4], (long)r[5]);
}
#endif

static inline void inside_handler(int signal, siginfo_t *info, void *context) {
  (void)signal;
  if (t_inside.call == info->si_syscall) {
    t_inside.call = -1;
    t_inside.interrupted();
  }
  inside_repeat(info->si_syscall, &((ucontext_t *)context)->uc_mcontext);
}

static inline void inside_fail(const char *what) {
  perror(what);
  exit(2);
}

/* Traps mmap, munmap, madvise, mremap and futex, except in inside_pass. The filter knows no process_madvise: the
 * allocator must do without. */
static inline void inside_install(void) {
  const unsigned long pass = (unsigned long)inside_passed;
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_madvise, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_munmap, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)pass, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(pass >> 32), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
  struct sigaction action = {.sa_sigaction = inside_handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSYS, &action, NULL);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) inside_fail("PR_SET_NO_NEW_PRIVS");
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) inside_fail("PR_SET_SECCOMP");
}

/* The next `call` of this thread runs interrupted() first. */
static inline void inside_arm(long call, void (*interrupted)(void)) {
  t_inside.interrupted = interrupted;
  t_inside.call = call;
}

static inline void inside_disarm(void) { t_inside.call = -1; }

static inline int inside_happened(void) { return t_inside.call == -1; }

#endif
