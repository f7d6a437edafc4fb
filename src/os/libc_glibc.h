/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libc_glibc.h: libc.h for glibc.
 *
 * what      Two variables that glibc shows.
 * not here  Their meaning: libc.h.
 */
#ifndef HAK_OS_LIBC_GLIBC_H
#define HAK_OS_LIBC_GLIBC_H

#include <sys/single_threaded.h>

#define HAK_LIBC_GLIBC 1
#define HAK_LIBC_FLAG ((uint8_t *)&__libc_single_threaded)
#define HAK_LIBC_IS_SINGLE __libc_single_threaded
#define HAK_LIBC_OPENS(NEXT, instead)                        \
  NEXT(dlopen, void *, (const char *, int), instead)         \
  NEXT(dlmopen, void *, (Lmid_t, const char *, int), instead)

extern void *__libc_stack_end;

#define hak_libc_stack_end() ((const void *)__libc_stack_end)
#define hak_libc_given(type) hak_given_at(hak_libc_stack_end(), type)

#endif
