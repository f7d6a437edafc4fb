/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* marks.h: the marks of a context by which a fast path sees that a class is closed.
 *
 * what      A fast path compares the top of a magazine with a floor (malloc) and a ceiling (free). A closed class has a
 *           floor above and a ceiling below all magazines, so its calls take the slow path: while calls are observed,
 *           and from the start of a drain to the owner's next slow path.
 *
 *               open:     floor = slots, ceiling = slots + capacity
 *               sampled:  floor = -(slots + 8), which no top is above; the sampler finds slots in it (entry/sampled.h)
 *               closed:   floor = 2^63, ceiling = NULL
 *
 * owner     The context's thread opens; any thread closes, as the only effect is the slow path.
 * orders    Relaxed; the observers are read behind a fence.
 * not here  Draining: reclaim/drain_idle.h. Observers: tables/calls.h.
 */
#ifndef HAK_CACHE_MARKS_H
#define HAK_CACHE_MARKS_H

#include "cache/context.h"

/* Closes class c for malloc and free. Any thread. */
void hak_marks_close(struct hak_context *x, unsigned c);

/* Sets the marks of class c by its magazine, the observers, and whether it is closed for a drain. Owner alone. */
void hak_marks_open(struct hak_context *x, unsigned c);

/* The same for all classes, and notes the observers of now in x->eyes. Owner alone. */
void hak_marks_open_all(struct hak_context *x);

/* Closes the classes of all contexts while calls are observed. The owner's next slow path opens each class that may be
 * open; a new context has no magazine, so its first call of a class takes a slow path. */
void hak_marks_close_all(void);

#endif
