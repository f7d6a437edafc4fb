/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lookup.h: libc's dlsym.
 *
 * what      Found by its versioned name, since a dlsym of the program's or of an interposer has no version. Such a
 *           function may have a different meaning, and a lookup with RTLD_NEXT that the function passes on starts
 *           behind that function's library.
 *
 *               hak_lookup() --> dlvsym(RTLD_NEXT, "dlsym", libc's first version) --> libc's own dlsym
 *
 * locks     The loader's, in both functions.
 * failure   NULL in a statically linked program.
 * not here  The names looked up: api/next.h, record/profile_backtrace.h, api/new.cpp.
 */
#ifndef HAK_OS_LOOKUP_H
#define HAK_OS_LOOKUP_H

#include "base/bits.h"

typedef void *hak_lookup_function(void *library, const char *name);

/* Returns a function to be called from this library: dlsym examines the caller's address. */
hak_lookup_function *hak_lookup(void);

#endif
