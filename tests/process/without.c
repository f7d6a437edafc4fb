/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* without.c CALL ERRNO PROGRAM [ARGUMENT...]: runs a program to which the kernel refuses one call, as an old kernel does
 * (ENOSYS) or a filter (EPERM). HAK_TEST_PRELOAD is what the program preloads.
 *
 * CALL is a row of the table below. A call is told from others of its number by one argument.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANY 0, 0, UINT32_MAX

enum { ADVICE = 2, RIGHTS = 2, PR_SET_VMA_OPTION = 0x53564d41, FIRST_FILE = 3 };

/* Refused if the lower half of argument `which` is in [least, most]. */
static const struct row {
  const char *name;
  int number, which;
  uint32_t least, most;
} g_rows[] = {
    {"populate", SYS_madvise, ADVICE, 22, 23},
    {"cold", SYS_madvise, ADVICE, 20, 21},
    {"wipeonfork", SYS_madvise, ADVICE, 18, 19},
    {"dump", SYS_madvise, ADVICE, 16, 17},
    {"hugepage", SYS_madvise, ADVICE, 14, 15},
    {"madvise", SYS_madvise, ANY},
    {"membarrier", SYS_membarrier, ANY},
    {"process_madvise", SYS_process_madvise, ANY},
    {"vma_name", SYS_prctl, 0, PR_SET_VMA_OPTION, PR_SET_VMA_OPTION},
    {"clock", SYS_clock_gettime, ANY},
    {"affinity", SYS_sched_getaffinity, ANY},
    {"robust_list", SYS_get_robust_list, ANY},
    {"limits", SYS_prlimit64, ANY},
    {"remap", SYS_mremap, ANY},
    {"unmap", SYS_munmap, ANY},
    /* The background thread, and the blocking of signals around its start. */
    {"clone", SYS_clone, ANY},
    {"guard", SYS_mprotect, RIGHTS, PROT_NONE, PROT_NONE},
    {"thread_name", SYS_prctl, 0, PR_SET_NAME, PR_SET_NAME},
    {"scheduler", SYS_sched_getscheduler, ANY},
    {"set_scheduler", SYS_sched_setscheduler, ANY},
    {"set_affinity", SYS_sched_setaffinity, ANY},
    {"sigprocmask", SYS_rt_sigprocmask, ANY},
    {"sigaction", SYS_rt_sigaction, ANY},
    {"tgkill", SYS_tgkill, ANY},
    {"peek", SYS_process_vm_readv, ANY},
    {"getpid", SYS_getpid, ANY},
    {"gettid", SYS_gettid, ANY},
    {"futex", SYS_futex, ANY},
    {"nanosleep", SYS_nanosleep, ANY},
    {"poll", SYS_ppoll, ANY},
    /* Files: /proc, the control group and its pressure; those that a setting asked for. For static programs. */
    {"files", SYS_openat, ANY},
    {"read", SYS_read, ANY},
    {"pread", SYS_pread64, ANY},
    {"write_file", SYS_write, 0, FIRST_FILE, UINT32_MAX},
    {"pwrite", SYS_pwrite64, ANY},
    {"fallocate", SYS_fallocate, ANY},
    {"map_file", SYS_mmap, 4, FIRST_FILE, INT32_MAX},
    {"close", SYS_close, ANY},
    {"stat", SYS_newfstatat, ANY},
    {"fstat", SYS_fstat, ANY},
    {"fcntl", SYS_fcntl, ANY},
    {"fchmod", SYS_fchmod, ANY},
    {"flock", SYS_flock, ANY},
    {"rename", SYS_renameat2, ANY},
    {"unlink", SYS_unlinkat, ANY},
    {"user", SYS_geteuid, ANY},
};

static void fail(const char *what) {
  perror(what);
  exit(2);
}

static void refuse(const struct row *row, uint32_t number) {
  uint32_t argument = (uint32_t)offsetof(struct seccomp_data, args) + 8 * (uint32_t)row->which;
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)row->number, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, row->least, 0, 2),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, row->most, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | number),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("no_new_privs");
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) fail("seccomp");
}

int main(int count, char **arguments) {
  const char *preload = getenv("HAK_TEST_PRELOAD");
  const struct row *row = g_rows, *end = g_rows + sizeof g_rows / sizeof g_rows[0];
  while (row < end && (count < 4 || strcmp(row->name, arguments[1]) != 0)) row++;
  if (row == end) return 2;
  if (preload != NULL) setenv("LD_PRELOAD", preload, 1);
  refuse(row, strcmp(arguments[2], "ENOSYS") == 0 ? ENOSYS : EPERM);
  execv(arguments[3], arguments + 3);
  fail(arguments[3]);
}
