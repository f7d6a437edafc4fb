/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* given.h: what the kernel gave the process at exec.
 *
 * what      The values of the auxiliary vector, read where the kernel put it: libc's getauxval is reached by its name,
 *           and the function of that name may be the program's, of another meaning, or an interposer's that calls
 *           malloc.
 *
 *               __libc_stack_end --> [ argc | arguments 0 | environment 0 | type value type value ... AT_NULL ]
 *
 * locks     None. Thread-safe and signal-safe, from the first instruction of the process on.
 * failure   0.
 * not here  What is done with the values: os.c, clock.c, tables/settings.c.
 */
#ifndef HAK_OS_GIVEN_H
#define HAK_OS_GIVEN_H

#include "base/bits.h"

/* The value of this type (AT_PAGESZ ...); 0 where there is none. */
unsigned long hak_given(unsigned long type);

/* The same of a stack whose word for the arguments' count lies at `start`, or up to 15 bytes above it. */
unsigned long hak_given_at(const void *start, unsigned long type);

#endif
