/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* due.h: work due at the head of a slow path.
 *
 * what      In this order, each if due: what another process asked for, a drain of idle threads' magazines, the repair
 *           after a fork, the release of aged free memory, the end of a learner's window, the statistics page.
 * locks     None is held.
 * not here  When work is due: cache/account.h.
 */
#ifndef HAK_ENTRY_DUE_H
#define HAK_ENTRY_DUE_H

#include <stddef.h>

/* n: bytes that the call requests; 0: none. */
void hak_due_work(size_t n);

#endif
