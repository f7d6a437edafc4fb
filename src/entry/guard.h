/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guard.h: guarded blocks, by the setting guard_bytes.
 *
 * what      Requests are counted as for a profile (sampled.h), which chooses one in guard_bytes; that is served from
 *           blocks/guarded.h, with the stack of its call. Its free takes the slow path, as the pool has no class.
 *
 *              malloc -> counted -> chosen ? guarded block : as usual
 *              free -> no class -> in the pool ? check, keep the stack, shut the page : as usual
 *
 * locks     None held while a stack is walked.
 * failure   If no slot is free, the call is served as usual. A wrong free of a guarded block ends the program, with a
 *           report (observe/guard_report.h).
 * not here  The pool: blocks/guarded.h.
 */
#ifndef HAK_ENTRY_GUARD_H
#define HAK_ENTRY_GUARD_H

#include <stddef.h>

#include "os/die.h"

/* A guarded block of n bytes; NULL: none, as n is too long or no slot is free. */
void *hak_guard_malloc(size_t n, const void *site);

/* Frees a pointer that lies in the pool. */
void hak_guard_free(void *p, const void *site);

/* Reports a pointer that lies in the pool and is no live block, with the stack of this call. */
void hak_guard_tell(enum hak_error error, const void *p, const void *site);

/* After guard_bytes was set: has faults in the pool reported. Not inside malloc. */
void hak_guard_begin(void);

#endif
