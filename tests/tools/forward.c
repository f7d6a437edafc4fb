/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* forward.c: a library that looks like an allocator and only forwards to libc. Measurements of HAKMEM must refuse this
 * library. */
#define _GNU_SOURCE
#include <stddef.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

void *malloc(size_t n)
{
  return __libc_malloc(n);
}

void *calloc(size_t count, size_t size)
{
  return __libc_calloc(count, size);
}

void *realloc(void *p, size_t n)
{
  return __libc_realloc(p, n);
}

void free(void *p)
{
  __libc_free(p);
}
