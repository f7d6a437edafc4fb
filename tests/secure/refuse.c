/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs a program under a kernel that does not guard: refuse refused|empty PROGRAM ARGUMENTS...
 * refused: MADV_GUARD_INSTALL fails with EINVAL, as before Linux 6.13; empty: it returns 0 and does nothing. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GUARD_INSTALL = 102 };

int main(int count, char **given) {
  if (count < 3) return 2;
  unsigned answer = SECCOMP_RET_ERRNO | (strcmp(given[1], "refused") == 0 ? EINVAL : 0);
  struct sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GUARD_INSTALL, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof steps / sizeof steps[0], steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 3;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 3;
  execvp(given[2], given + 2);
  perror(given[2]);
  return 4;
}
