/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* depth.c: number of malloc's frames on the stack at the kernel call for new addresses.
 *
 * what      A filter of system calls turns each mmap at a fixed place (MAP_FIXED_NOREPLACE: the address range grows)
 *           into a signal; its handler counts the library's frames, as the release build has after inlining. malloc and
 *           its first slow function end in jumps and have no frame.
 * owner     The process.
 * failure   Exit 1 and one line if there are more than MOST frames; one line if the kernel refuses the filter.
 * not here  Instructions: tests/instructions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 7, FRAMES = 64 };

static void *volatile last; /* calls of malloc stay */

static int frames_of_library(void) {
  void *frame[FRAMES];
  Dl_info library, info;
  int n = backtrace(frame, FRAMES), count = 0;
  if (dladdr((void *)(size_t)malloc, &library) == 0) return FRAMES;
  for (int i = 0; i < n; i++) count += dladdr(frame[i], &info) != 0 && info.dli_fbase == library.dli_fbase;
  return count;
}

static void count_frames(int number) {
  (void)number;
  int n = frames_of_library();
  printf("depth: %d frames from malloc to the kernel call that makes the range longer, at most %d\n", n, MOST);
  _exit(n > MOST || n == 0);
}

static int trap_growth(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_FIXED_NOREPLACE, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  struct sock_fprog filter = {sizeof code / sizeof *code, code};
  signal(SIGSYS, count_frames);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0 ? errno : 0;
}

int main(void) {
  void *warm[4];
  backtrace(warm, 4);               /* loads libgcc */
  setvbuf(stdout, NULL, _IONBF, 0); /* the handler must not allocate a buffer */
  for (int i = 0; i < 100; i++) last = malloc(8000);
  if (trap_growth() != 0) return puts("depth: not counted, as there may be no filter"), 0;
  for (int i = 0; i < 100000; i++) last = malloc(8000);
  puts("depth: the range never became longer");
  return 1;
}
