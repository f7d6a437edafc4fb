/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libc.h: what differs from libc to libc.
 *
 * what      One header per libc with the same names, chosen here and nowhere else: libc_glibc.h or libc_musl.h.
 *
 *               name                 meaning                                          musl
 *               HAK_LIBC_FLAG        address of a byte that is 1 until libc makes a   NULL: musl shows no such
 *                                    thread                                           byte
 *               HAK_LIBC_IS_SINGLE   that byte                                        false
 *               hak_libc_stack_end   the first stack's base: argc, arguments,         found from `environ`
 *                                    environment and auxiliary vector lie there
 *               hak_libc_given       a value of the auxiliary vector              there, else by the kernel's file
 *               hak_libc_has_thread  libc made or forked the calling thread, which    by pthread_getcpuclockid
 *                                    is thus not in a child of vfork
 *               HAK_LIBC_GLIBC       1: names that glibc alone has are exported       0
 *               HAK_LIBC_OPENS       rows of api/next.h for opening libraries         none: no RTLD_DEEPBIND
 *
 *           Two more things differ, and need no code. musl has no dlvsym, a weak name (lookup.c). Destructors of C++
 *           thread_local variables run from a pthread key of the C++ runtime, after the exit hook of entry/thread.c;
 *           blocks freed there go back one by one.
 * failure   NULL where unknown.
 * not here  The kernel: call.h.
 */
#ifndef HAK_OS_LIBC_H
#define HAK_OS_LIBC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GLIBC__)
#include "os/libc_glibc.h"
#else
#include "os/libc_musl.h"
#endif

bool hak_libc_has_thread(void);

#endif
