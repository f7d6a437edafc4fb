/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* threshold.h: from what size on a block is big.
 *
 * what      The setting big_threshold, unless another threshold was learnt (core/snapshot.h). It may be another one at
 *           each look: what a block is, its address says.
 */
#ifndef HAK_CORE_THRESHOLD_H
#define HAK_CORE_THRESHOLD_H

#include <stdint.h>

#include "core/knobs.h"
#include "core/snapshot.h"
#include "learn/elo.h"

static inline uint64_t hak_threshold(void) {
  unsigned arm = hak_decided(HAK_DECIDED_threshold);
  return HAK_LIKELY(arm == 0) ? hak_knob(big_threshold) : hak_elo_threshold(arm - 1);
}

#endif
