/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* extra_class.h: an additional size class where many requests fall between two classes.
 *
 * what      In the modes shadow and evolving, requests that find an empty magazine are sampled: a request for each
 *           64 KiB of refilled blocks, weighted by the number of blocks. A block costs its part of the slab's pages, so
 *           a class pays only if more blocks fit into a slab:
 *
 *               5,136 bytes      class 5,632: 11 in 64 KiB, 5,958 each    class 5,376: 12 in 64 KiB, 5,462 each
 *
 *           After each 2 MiB of refills, learn/peaks.h proposes the class that saves most. The class is added if
 *
 *               saved  =  most blocks handed out x (cost in the class above - cost in the new class)
 *               spent  =  per thread, a slab not full and half a magazine; and holes in slabs of the class above
 *
 *           saved is at least spent. A hole is left by a block, handed out now, that is freed and then allocated in the
 *           new class. If nearly all refilled blocks are still handed out, the heap grows, and no holes are expected;
 *           else all blocks handed out count as holes. (A window of learner.h is too long: 256 slow calls may refill
 *           90 MiB.)
 * owner     g_extra (in extra_class.c): the holder of the learner's claim.
 * orders    See tables/classes.h. A thread takes a new table at its next slow call.
 * hot path  No. In the modes that do not learn no slow call has an instruction for this.
 * failure   After four classes no further class is decided.
 *           A thread that is there before a policy with classes is read in mode frozen takes no new table, but for the
 *           thread that reads: the others' requests have the class above.
 * not here  The class: tables/classes.h.
 */
#ifndef HAK_LEARN_EXTRA_CLASS_H
#define HAK_LEARN_EXTRA_CLASS_H

#include <stddef.h>

#include "cache/context.h"
#include "learn/rows.h"

/* Brings the thread's look-up table up to date with the process's table. */
static inline void hak_extra_class_heed(struct hak_context *x) {
  uint8_t version = hak_load_acquire(&g_class_version);
  if (HAK_LIKELY(x->version == version)) return;
  hak_class_table_renew(x->small_class);
  x->version = version;
}

/* True if this slow call for n bytes, 0 < n <= HAK_SLAB_MAX, is a sample: hak_extra_class_note follows. */
bool hak_extra_class_samples(struct hak_context *x, size_t n);

/* Notes the sample. Lock: the learner's claim held, and no further lock. */
void hak_extra_class_note(struct hak_context *x, size_t n);

/* The row `class` of a policy (rows.h): block size, and the weight: blocks refilled for requests that the class serves,
 * as sampled. At each run those of earlier runs count half as much; a class of weight 0 has no row. */
enum { HAK_EXTRA_WEIGHT_MOST = 1 << 30 };
bool hak_extra_class_out(unsigned which, unsigned i, uint64_t *number);
bool hak_extra_class_in(unsigned which, const uint64_t *number, enum hak_row_use use);

#endif
