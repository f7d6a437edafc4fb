/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* own_names.c: a program's own functions under names of libc.
 *
 * what      Each function has a different meaning: a mistaken call prints a line and ends the process. libc calls its
 *           functions by names that no program can define. Linked into host.c and exported.
 */
#include <sys/syscall.h>

#include "arch/arch.h"

#define HIDDEN_WRITE "own_names: called by name: "

/* The kernel's call: libc's names are among the replaced names. */
static long ask(long number, long a, const void *b, unsigned long c) {
  return hak_arch_ask(number, a, (long)b, (long)c, 0, 0, 0);
}

__attribute__((noreturn)) static void told(const char *name) {
  enum { ERR = 2 };
  unsigned long bytes = 0;
  while (((const volatile char *)name)[bytes] != '\0') bytes++;
  ask(SYS_write, ERR, HIDDEN_WRITE, sizeof HIDDEN_WRITE - 1);
  ask(SYS_write, ERR, name, bytes);
  ask(SYS_write, ERR, "\n", 1);
  ask(SYS_exit_group, 99, 0, 0);
  __builtin_unreachable();
}

#define OWN(name) \
  void name(void); \
  void name(void) { told(#name); }

extern int environ;
int environ = 1234567;

OWN(getauxval)
OWN(dlsym)
OWN(clone)
OWN(syscall)
OWN(mmap)
OWN(mmap64)
OWN(munmap)
OWN(mremap)
OWN(madvise)
OWN(mprotect)
OWN(clock_gettime)
OWN(clock_getres)
OWN(gettimeofday)
OWN(time)
OWN(open)
OWN(open64)
OWN(openat)
OWN(close)
OWN(read)
OWN(write)
OWN(pread)
OWN(pwrite)
OWN(poll)
OWN(stat)
OWN(fstat)
OWN(rename)
OWN(unlink)
OWN(fcntl)
OWN(ioctl)
OWN(posix_fallocate)
OWN(ftruncate)
OWN(getpid)
OWN(gettid)
OWN(kill)
OWN(raise)
OWN(abort)
OWN(signal)
OWN(sigaction)
OWN(sigfillset)
OWN(sigaddset)
OWN(sigprocmask)
OWN(pthread_sigmask)
OWN(getrlimit)
OWN(sched_yield)
OWN(sched_getaffinity)
OWN(sched_setaffinity)
OWN(sched_setscheduler)
OWN(sched_getscheduler)
OWN(nanosleep)
OWN(sysconf)
OWN(getpagesize)
OWN(getenv)
OWN(secure_getenv)
OWN(strlen)
OWN(memmove)
OWN(memcmp)
OWN(strcmp)
OWN(strncmp)
OWN(strcpy)
OWN(strcat)
OWN(strchr)
OWN(strrchr)
OWN(strstr)
OWN(strspn)
OWN(strcspn)
OWN(memchr)
OWN(rawmemchr)
