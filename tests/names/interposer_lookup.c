/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* interposer_lookup.c: a library that stands in front of dlsym and does not jump to libc's.
 *
 * what      A lookup behind the caller (RTLD_NEXT) becomes a lookup behind this library. Each call allocates and frees
 *           a block.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#else
#define FIRST "GLIBC_2.17"
#endif

typedef void *function(void *library, const char *name);
enum { BLOCK_BYTES = 3000 };

void *dlsym(void *restrict library, const char *restrict name) {
  void *real = dlvsym(RTLD_NEXT, "dlsym", FIRST);
  free(malloc(BLOCK_BYTES));
  void *volatile found = ((function *)real)(library, name);
  return found;
}
