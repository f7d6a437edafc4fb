/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* threshold.h: the size [bytes] from which a block is big.
 *
 * what      The setting big_threshold, or a learnt threshold (tables/snapshot.h). Two reads may differ: the kind of a
 *           block follows from its address, not from its size.
 */
#ifndef HAK_TABLES_THRESHOLD_H
#define HAK_TABLES_THRESHOLD_H

#include <stdint.h>

#include "base/arms.h"
#include "tables/settings.h"
#include "tables/snapshot.h"

static inline uint64_t hak_threshold(void) {
  unsigned arm = hak_decided(HAK_DECIDED_threshold);
  return HAK_LIKELY(arm == 0) ? hak_setting(big_threshold) : hak_arm_threshold(arm - 1);
}

#endif
