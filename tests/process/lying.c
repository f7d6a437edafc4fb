/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lying.c [calls]: a seccomp filter answers MADV_DONTNEED with 0 and forwards nothing, as some emulators do: the pages
 * stay. "all": it answers every madvise so. Memory of calloc is zero all the same, and every free is right. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "observe.h"

enum { ALL = 96 << 20, MOST = ALL / 5000 };

static void lie(bool all) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
      BPF_JUMP(all ? BPF_JMP | BPF_JGE | BPF_K : BPF_JMP | BPF_JEQ | BPF_K, all ? 0 : MADV_DONTNEED, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  work_expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
  work_expect(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "seccomp");
}

static void replace(size_t bytes) {
  static char *block[MOST];
  size_t blocks = ALL / bytes;
  for (size_t i = 0; i < blocks; i++) memset(block[i] = malloc(bytes), 0xAB, bytes);
  for (size_t i = 0; i < blocks; i++) free(block[i]);
  malloc_trim(0);
  for (size_t i = 0; i < blocks; i++) {
    block[i] = calloc(1, bytes);
    for (size_t at = 0; at < bytes; at++) work_expect(block[i][at] == 0, "calloc is not zero");
  }
  for (size_t i = 0; i < blocks; i++) free(block[i]);
}

int main(int count, char **arguments) {
  lie(count == 2 && strcmp(arguments[1], "all") == 0);
  for (int round = 0; round < 2; round++) {
    replace(6000);
    replace(64 << 10);
    replace(600000);
    replace(1200000); /* big blocks, whose table grows */
  }
  puts("done");
  return 0;
}
