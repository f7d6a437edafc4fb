/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* forward.c: a library that defines malloc and free and hands every call on to glibc.
 *
 * what      What a benchmark must not take for an allocator: preloaded, it is the one that serves malloc, by name.
 * owner     glibc.
 * failure   As glibc's.
 * not here  The check that finds it out: bench/harness.h and cli/hakmem/process/peers.py.
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
