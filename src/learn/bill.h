/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bill.h: what a learner could save at most, beside the time that passed.
 *
 * what      A learner's bill is what its decisions govern: slow calls, kernel calls, pages fetched, rent. Where that is
 *           below a hundredth of the time, no decision is worth making, and the learner sleeps. Counting goes on, so it
 *           wakes when its bill grows.
 * owner     The caller, which serializes all calls. All zeros: awake.
 * failure   A window counts for at most a second, as a process may idle for days, and a clock may jump. Both sums are
 *           halved before they overflow, so what is long ago counts less.
 */
#ifndef HAK_LEARN_BILL_H
#define HAK_LEARN_BILL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"

struct hak_bill {
  uint64_t paid_ns, time_ns;
};

/* Notes a window of `elapsed_ns`, in which `paid_ns` were paid. */
static inline void hak_bill_note(struct hak_bill *bill, uint64_t paid_ns, uint64_t elapsed_ns) {
  enum { WINDOW_NS = 1000000000, MEMORY_LOG = 36 };
  bill->paid_ns += hak_min(paid_ns, WINDOW_NS);
  bill->time_ns += hak_min(elapsed_ns, WINDOW_NS);
  if ((bill->time_ns | bill->paid_ns) >> MEMORY_LOG == 0) return;
  bill->paid_ns /= 2;
  bill->time_ns /= 2;
}

/* True if the learner may sleep. */
static inline bool hak_bill_is_small(const struct hak_bill *bill) {
  enum { PART = 100 };
  return bill->paid_ns < bill->time_ns / PART;
}

#endif
