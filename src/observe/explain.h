/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* explain.h: an address explained as text.
 *
 * what      "in a free block of class 64 B (0x2f0dd3e10040, offset 8), in a thread's magazine"
 * locks     None: a signal handler may call while any thread holds any lock. Signal-safe; allocates nothing.
 * failure   While other threads change a table, the text may describe the state before or after. A table that was
 *           unmapped just now causes a fault, which the caller must handle.
 * not here  The same from another process: cli/hakmem/watching/address.py.
 */
#ifndef HAK_OBSERVE_EXPLAIN_H
#define HAK_OBSERVE_EXPLAIN_H

#include "base/fmt.h"

/* Appends a description of p. Returns the address of the call that asked for the block; 0: no block, or unknown. */
uint64_t hak_explain(struct hak_line *line, const void *p);

#endif
