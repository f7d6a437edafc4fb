/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libc_musl.h: libc.h for musl.
 *
 * what      No flag; the first stack's base from libc_musl.c.
 * not here  The meaning of the names: libc.h.
 */
#ifndef HAK_OS_LIBC_MUSL_H
#define HAK_OS_LIBC_MUSL_H

#define HAK_LIBC_GLIBC 0
#define HAK_LIBC_FLAG ((uint8_t *)NULL)
#define HAK_LIBC_IS_SINGLE false
#define HAK_LIBC_OPENS(NEXT, instead)

extern char **__environ; /* declared by no header of musl */

const void *hak_libc_stack_end(void);
unsigned long hak_libc_given(unsigned long type);

#endif
