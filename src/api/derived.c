/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* derived.c: the functions that C and glibc define in terms of free and realloc.
 *
 * what      Each function calls its definition through the symbol table. So a program that defines malloc, free and
 *           realloc, started with this library preloaded, resizes and frees its blocks with the program's functions.
 *
 *              cfree, free_sized, free_aligned_sized -> free        reallocarray -> realloc
 *
 * hot path  One jump more than free and realloc. The calls stay jumps as long as this file does not define free and
 *           realloc.
 * failure   As free and realloc; reallocarray refuses a product that overflows with ENOMEM.
 * not here  calloc and the aligned functions, which glibc serves from glibc's heap: a program that replaces malloc and
 *           calls these functions without replacing them fails on glibc too.
 */
#include <stdlib.h>

#include "api/exports.h"
#include "api/rules.h"

HAK_EXPORT void *reallocarray(void *p, size_t count, size_t size) {
  size_t n;
  if (HAK_UNLIKELY(__builtin_mul_overflow(count, size, &n))) return hak_rules_refused(ENOMEM);
  return realloc(p, n);
}

HAK_EXPORT void cfree(void *p);
HAK_EXPORT void cfree(void *p) { free(p); }

/* The class map gives the block's size, as in free; the secure flavour compares. */
HAK_EXPORT void free_sized(void *p, size_t n);
HAK_EXPORT void free_sized(void *p, size_t n) {
  hak_front_expect(p, n, 0);
  free(p);
}

HAK_EXPORT void free_aligned_sized(void *p, size_t align, size_t n);
HAK_EXPORT void free_aligned_sized(void *p, size_t align, size_t n) {
  hak_front_expect(p, n, align);
  free(p);
}
