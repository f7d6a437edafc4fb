/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lookup.c: libc's dlsym.
 *
 * what      See lookup.h.
 */
#define _GNU_SOURCE
#include "os/lookup.h"

#include <dlfcn.h>
#include <stddef.h>

#include "arch/arch.h"

/* Weak: a statically linked program may lack both, and musl has no versions. */
extern __typeof__(dlsym) dlsym __attribute__((weak));
extern void *dlvsym(void *, const char *, const char *) __attribute__((weak));

hak_lookup_function *hak_lookup(void) {
  void *found = dlvsym != NULL ? dlvsym(RTLD_NEXT, "dlsym", HAK_ARCH_FIRST_LIBC) : NULL;
  return found != NULL ? (hak_lookup_function *)found : dlsym;
}
