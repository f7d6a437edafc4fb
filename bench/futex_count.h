/* futex_count.h: counts the futex calls that chosen threads make, whichever library makes them.
 *
 * what      A seccomp filter turns every futex call into SIGSYS; the handler counts it and makes the call itself,
 *           from the one instruction the filter lets through.
 * owner     The process, from futex_count_start to its end: a filter cannot be taken off again.
 * locks     None.
 * orders    The count is a relaxed atomic, read after the threads were joined or have met at a barrier.
 * hot path  A trapped call costs some microseconds more, so a run that counts is not timed.
 * failure   false from futex_count_start where the kernel allows no filter; nothing is counted then.
 * not here  Deciding when a thread counts: it sets g_counts_futex.
 */
#ifndef HAKMEM_BENCH_FUTEX_COUNT_H
#define HAKMEM_BENCH_FUTEX_COUNT_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

static atomic_ulong g_futex_calls;
static _Thread_local volatile bool g_counts_futex;

/* futex(2) with six arguments; the filter knows the address after its syscall instruction. */
long futex_let_through(long, long, long, long, long, long);
extern const char futex_after_call[];
__asm__(".text\n"
        "futex_let_through:\n"
        "    mov %rcx, %r10\n"
        "    mov $202, %eax\n"
        "    syscall\n"
        ".globl futex_after_call\n"
        "futex_after_call:\n"
        "    ret\n");
_Static_assert(SYS_futex == 202, "x86-64");

static void futex_trapped(int signal_number, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    int kept = errno;
    (void)signal_number;
    (void)info;
    if (g_counts_futex)
        atomic_fetch_add_explicit(&g_futex_calls, 1, memory_order_relaxed);
    r[REG_RAX] = futex_let_through(r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]);
    errno = kept;
}

static bool futex_count_start(void)
{
    uintptr_t allowed = (uintptr_t)futex_after_call;
    uint32_t low = (uint32_t)allowed, high = (uint32_t)(allowed >> 32);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, low, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, high, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
    struct sigaction action = {.sa_sigaction = futex_trapped, .sa_flags = SA_SIGINFO | SA_NODEFER};
    return sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

#endif
