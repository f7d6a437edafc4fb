/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* explain.h: what an address is to HAKMEM, as text.
 *
 * what      "in a free block of class 64 B (0x2f0dd3e10040, offset 8), in a thread's magazine"
 * locks     None, so that a signal handler may ask while a thread has any of them. Signal-safe; nothing is allocated.
 * failure   Tables that other threads change meanwhile may tell of either moment; one that was unmapped just now is a
 *           fault, with which the caller has to reckon.
 * not here  The same from outside: python/hakmem/explain.py.
 */
#ifndef HAK_OBSERVE_EXPLAIN_H
#define HAK_OBSERVE_EXPLAIN_H

#include "base/fmt.h"

/* Appends what p lies in. The address that asked for that block; 0: none, or not known. */
uint64_t hak_explain(struct hak_line *line, const void *p);

#endif
