/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* old.c: what the library asks of a glibc newer than 2.17, for one that lacks it; linked into the wheel for those only.
 *
 * what      gettid (2.30), fstat (2.33) and getrandom (2.25) as calls of the kernel. __libc_single_threaded (2.32) says that there may be
 *           other threads, always: locks are real ones. All are hidden: no one else sees them.
 */
#define _GNU_SOURCE
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

char __libc_single_threaded; /* <sys/single_threaded.h> is not included: it says that this comes from elsewhere */

pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

ssize_t getrandom(void *bytes, size_t count, unsigned flags) { return syscall(SYS_getrandom, bytes, count, flags); }

/* The kernel's struct stat is glibc's, on 64-bit machines. */
int fstat(int file, struct stat *facts) { return (int)syscall(SYS_fstat, file, facts); }
