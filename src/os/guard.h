/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guard.h: addresses that no access reaches, inside a mapping. In libhakmem-secure.so only.
 *
 * what      MADV_GUARD_INSTALL (Linux 6.13), which takes up no mapping. Where the kernel does not know it, refuses it
 *           or only says yes: PROT_NONE, for the first HAK_GUARDS_SHUT_MOST, as each splits a mapping in three and a
 *           process has some 65,000.
 * owner     The way that works here.
 * locks     None. Thread-safe and signal-safe; threads that come first together may both try the first way.
 * failure   False: the memory is as reachable as before, or its addresses are free; never touch them.
 */
#ifndef HAK_OS_GUARD_H
#define HAK_OS_GUARD_H

#include <stdbool.h>
#include <stddef.h>

enum { HAK_GUARDS_SHUT_MOST = 8192 };

/* Guards [p, p + bytes), whole pages of a private mapping, for good. Kernel calls: madvise, or mmap. */
bool hak_os_guard(void *p, size_t bytes);

#endif
