/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* own_malloc.c: a program with a malloc inside its executable, which no preloaded library can replace. */
#include <stddef.h>
#include <string.h>

static _Alignas(16) char arena[1 << 20];
static size_t used;

void *malloc(size_t n)
{
  size_t bytes = (n + 31) & ~(size_t)15;
  if (bytes > sizeof arena - used)
    return NULL;
  used += bytes;
  return arena + used - bytes;
}

void *calloc(size_t count, size_t size)
{
  return malloc(count * size);
}

void *realloc(void *p, size_t n)
{
  void *moved = malloc(n);
  if (p != NULL && moved != NULL)
    memmove(moved, p, n);
  return moved;
}

void free(void *p)
{
  (void)p;
}

int main(void)
{
  free(malloc(100));
  return 0;
}
