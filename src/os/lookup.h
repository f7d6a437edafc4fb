/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lookup.h: libc's dlsym.
 *
 * what      Looked up with its version, which a program's own function of that name, or one of an interposer, has not:
 *           such a one may mean another thing, and what it passes on is looked up as seen from there (RTLD_NEXT).
 *
 *               hak_lookup() --> dlvsym(RTLD_NEXT, "dlsym", libc's first version) --> libc's own dlsym
 *
 * locks     The loader's, in both functions.
 * failure   NULL in a program that is linked statically.
 * not here  What is looked up: api/next.h, record/profile_backtrace.h, api/new.cpp.
 */
#ifndef HAK_OS_LOOKUP_H
#define HAK_OS_LOOKUP_H

#include "base/bits.h"

typedef void *hak_lookup_function(void *library, const char *name);

/* What it returns is called from this library, as it looks at its caller. */
hak_lookup_function *hak_lookup(void);

#endif
