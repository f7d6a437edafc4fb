/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* forward.c: a library that defines malloc and free and forwards every call to glibc.
 *
 * what      A benchmark must not take this library for an allocator: preloaded, by name it serves malloc.
 * owner     glibc.
 * failure   As glibc's.
 * not here  The check that detects the library: bench/harness.h and cli/hakmem/process/peers.py.
 */
#include <stddef.h>

void *__libc_malloc(size_t n);
void __libc_free(void *p);

void *malloc(size_t n)
{
    return __libc_malloc(n);
}

void free(void *p)
{
    __libc_free(p);
}
