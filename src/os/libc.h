/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libc.h: what differs from libc to libc.
 *
 * what      One header per libc with the same names, chosen here and nowhere else: libc_glibc.h or libc_musl.h.
 *
 *               name                 meaning                                             musl
 *               HAK_LIBC_FLAG        address of a byte that is 1 until libc makes a      NULL: musl shows no such byte
 *                                    thread
 *               hak_libc_stack_end   the first stack's base: argc, arguments,            found from `environ`
 *                                    environment and auxiliary vector lie there
 *               HAK_LIBC_GLIBC       1: the names that glibc alone has are exported      0
 *               HAK_LIBC_OPENS       rows of api/next.h for opening libraries            none: no RTLD_DEEPBIND
 *
 *           Three more things differ, and need no code. musl registers a robust list only with the first robust mutex,
 *           so hak_is_own_process (alone.h) goes by the process's number alone, which suffices as the page of fork.h is
 *           there from the first block on. musl has no dlvsym, a weak name (lookup.c). musl runs the destructors of C++
 *           thread_local variables from a pthread key of the C++ runtime, after the exit hook of entry/thread.c; blocks
 *           freed there go back one by one.
 * failure   NULL where unknown.
 * not here  The kernel: call.h.
 */
#ifndef HAK_OS_LIBC_H
#define HAK_OS_LIBC_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GLIBC__)
#include "os/libc_glibc.h"
#else
#include "os/libc_musl.h"
#endif

#endif
