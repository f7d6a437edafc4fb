/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* derived.c: the functions that C and glibc define in terms of free and realloc.
 *
 * what      Each calls the one it is defined by through the symbol table. A program with a malloc, free and realloc of
 *           its own, on which this library is preloaded, so gets its own blocks resized and freed by itself.
 *
 *               cfree, free_sized, free_aligned_sized -> free        reallocarray -> realloc
 *
 * hot path  One jump more than what is called. They stay jumps as long as this file does not define free and realloc.
 * failure   As of what is called; a product that overflows is refused here, with ENOMEM.
 * not here  calloc and the aligned ones, which glibc makes of its own heap: a program that replaces malloc and calls
 *           them without replacing them fails on glibc too.
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

/* The sizes are the program's word; the class map is read all the same. */
HAK_EXPORT void free_sized(void *p, size_t n);
HAK_EXPORT void free_sized(void *p, size_t n) {
  (void)n;
  free(p);
}

HAK_EXPORT void free_aligned_sized(void *p, size_t align, size_t n);
HAK_EXPORT void free_aligned_sized(void *p, size_t align, size_t n) {
  (void)align;
  (void)n;
  free(p);
}
