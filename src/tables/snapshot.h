/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* snapshot.h: what was learnt for the whole process, published in one word.
 *
 * what      A byte for each decision: 0 means as the settings and the price say, n + 1 means the learner's arm n. The
 *           writer stores the whole word, a reader loads the word once: no reader sees a mixture of two policies.
 *
 *               bits   | 0 .. 7    | 8 .. 15 | 16 .. 23  | 24 .. 31  | 32 .. 39   | 40 .. 47 | 48 .. 63 |
 *                      | threshold | slack   | placement | keep runs | keep slabs | 0        | version  |
 *
 * owner     g_snapshot; written by the holder of the learner's claim (learn/learner.h).
 * orders    Relaxed: an arm depends on no further memory.
 * not here  What is learnt by site: learn/big_keep.h. What is learnt by class: learn/caches.h.
 */
#ifndef HAK_TABLES_SNAPSHOT_H
#define HAK_TABLES_SNAPSHOT_H

#include <assert.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"

enum hak_decided {
  HAK_DECIDED_threshold,
  HAK_DECIDED_slack,
  HAK_DECIDED_place,
  HAK_DECIDED_keep_runs,
  HAK_DECIDED_keep_slabs,
  HAK_DECIDED
};

extern HAK_HIDDEN uint64_t g_snapshot;

/* 0: as the settings say; n + 1: arm n. */
static inline unsigned hak_snapshot_arm(uint64_t snapshot, enum hak_decided what) {
  return (unsigned)(snapshot >> 8 * what & 255);
}

static inline uint64_t hak_snapshot_with(uint64_t snapshot, enum hak_decided what, unsigned arm) {
  return (snapshot & ~((uint64_t)255 << 8 * what)) | (uint64_t)arm << 8 * what;
}

/* The present arm of a single decision. */
static inline unsigned hak_decided(enum hak_decided what) { return hak_load((const uint8_t *)&g_snapshot + what); }
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the byte of one decision, which is cheaper to read alone");

/* Publishes these arms with the next version. Unchanged arms publish nothing. One thread at a time. */
void hak_snapshot_publish(uint64_t arms);

#endif
