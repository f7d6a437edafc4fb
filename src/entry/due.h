/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* due.h: what is due at the head of a slow path.
 *
 * what      In this order, each where it is due: a look at idle threads' magazines, the repair of what a fork left half
 *           done, free memory that has grown old, a window of the learner, the statistics page.
 * locks     None is held.
 * not here  When something is due: cache/account.h.
 */
#ifndef HAK_ENTRY_DUE_H
#define HAK_ENTRY_DUE_H

#include <stddef.h>

/* n: the bytes that the call asks for; 0: none. */
void hak_due_work(size_t n);

#endif
