/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bytes.h: memory copied, filled and compared, by functions of the library's own.
 *
 * what      Every C source of the library includes this header, mostly by bits.h. The header gives libc's four names
 *           the symbols of functions in bytes.c, for the compiler's implicit calls as well: a program or an interposer
 *           may define these names with functions that allocate, or that need a thread made by libc.
 *
 *               memcpy(...), a struct's copy   -->  hak_memmove, here
 *               hak_libc_memcpy(...)           -->  memcpy, libc's or the program's
 *
 * owner     The caller's bytes.
 * locks     None. Signal-safe.
 * failure   None. With clang the compiler's implicit calls still reach libc's functions.
 * not here  Text: str.h.
 */
#ifndef HAK_BASE_BYTES_H
#define HAK_BASE_BYTES_H

#include <stddef.h>

#ifndef __cplusplus
void *memcpy(void *restrict to, const void *restrict from, size_t n) __asm__("hak_memmove");
void *memmove(void *to, const void *from, size_t n) __asm__("hak_memmove");
void *memset(void *to, int value, size_t n) __asm__("hak_memset");
int memcmp(const void *one, const void *other, size_t n) __asm__("hak_memcmp");
#endif

/* libc's functions, which are faster for many bytes: only for the program's blocks, outside of every slow path and
 * lock. */
void *hak_libc_memcpy(void *to, const void *from, size_t n) __asm__("memcpy");
void *hak_libc_memset(void *to, int value, size_t n) __asm__("memset");

#endif
