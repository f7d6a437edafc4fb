/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* given.h: values that the kernel gave the process at exec.
 *
 * what      The auxiliary vector, read where the kernel placed the vector. libc's getauxval is found by name: the
 *           program may define the name with a different meaning, and an interposer's function may call malloc.
 *
 *               hak_libc_stack_end --> [ argc | arguments 0 | environment 0 | type value type value ... AT_NULL ]
 *
 * locks     None. Thread-safe and signal-safe, from the first instruction of the process on.
 * failure   0.
 * not here  The use of the values: os.c, clock.c, tables/settings.c.
 */
#ifndef HAK_OS_GIVEN_H
#define HAK_OS_GIVEN_H

#include "base/bits.h"

/* Returns the value of this type (AT_PAGESZ ...); 0: none. */
unsigned long hak_given(unsigned long type);

/* The same for a given stack: the arguments' count lies at `start` or up to 15 bytes above. */
unsigned long hak_given_at(const void *start, unsigned long type);

#endif
