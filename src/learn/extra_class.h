/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* extra_class.h: a size class of its own where many requests fall between two.
 *
 * what      In the modes shadow and evolving, requests that find their magazine empty are sampled by what their refills
 *           bring, one in 64 KiB, for as many blocks as that is. A block costs what of its slab's pages is its, so a
 *           class pays only where more blocks go into a slab:
 *
 *               5,136 bytes      class 5,632: 11 in 64 KiB, 5,958 each    class 5,376: 12 in 64 KiB, 5,462 each
 *
 *           With each 2 MiB learn/peaks.h says which class would save most. It is added when it would have saved more
 *           of the most blocks that were out than it may cost now: in each thread a slab that is not full, half a
 *           magazine, and the holes that blocks leave which are out now, when they are freed and come back in the new
 *           class. Where what was brought is still out, the heap grows, and few will be; elsewhere all will. (A window
 *           of the learner's is too long for that: 256 doors may bring 90 MiB.)
 * owner     g_extra (in extra_class.c), of who holds the learner's claim.
 * orders    See tables/classes.h. A thread takes a new table at its next slow door.
 * hot path  No. In other modes no slow door has an instruction for it.
 * failure   After four classes nothing is decided any more.
 * not here  The class: tables/classes.h.
 */
#ifndef HAK_LEARN_EXTRA_CLASS_H
#define HAK_LEARN_EXTRA_CLASS_H

#include <stddef.h>

#include "cache/context.h"

/* The thread's own look-up table is as new as the process's. */
static inline void hak_extra_class_heed(struct hak_context *x) {
  uint8_t version = hak_load_acquire(&g_class_version);
  if (HAK_LIKELY(x->version == version)) return;
  hak_class_table_renew(x->small_class);
  x->version = version;
}

/* This thread comes to a slow door for n bytes, not 0 and no more than HAK_SLAB_MAX: is it to be noted? */
bool hak_extra_class_samples(struct hak_context *x, size_t n);

/* It is: under the learner's claim, with no other lock held. */
void hak_extra_class_note(struct hak_context *x, size_t n);

#endif
