/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* arms.h: the values that a learnt decision may take.
 *
 * what      Three ladders. Learning chooses a rung; the readers of a decision turn the rung into a value here.
 *
 *               keep time, of a break-even time      0   1/16   1/8   1/4   1/2   1   2   4
 *               threshold of big blocks              512 KiB .. 32 MiB, 12 rungs
 *               slack, in percent of the most        as the price says, 0, 5, 14, 28, 42
 * owner     Pure functions.
 * not here  The choice of a rung: src/learn. The effect: retain/rent.c, tables/threshold.h.
 */
#ifndef HAK_BASE_ARMS_H
#define HAK_BASE_ARMS_H

#include <stdint.h>

#include "base/bits.h"

enum { HAK_ARMS = 8, HAK_ARM_BREAK_EVEN = 5, HAK_ARM_THRESHOLDS = 12, HAK_ARM_SLACKS = 5 };

/* Keep time of an arm, in the unit of `break_even`. With break_even = UINT64_MAX (for ever) arms of at least break-even
 * are UINT64_MAX, too. */
uint64_t hak_arm_time(unsigned arm, uint64_t break_even);

/* Threshold of an arm [bytes]: 512 KiB, 768 KiB, 1 MiB, 1.5 MiB ... 8 MiB, 12 MiB, 16 MiB, 32 MiB. */
uint64_t hak_arm_threshold(uint32_t arm);

/* Slack of a code, 1 .. HAK_ARM_SLACKS [percent]. */
HAK_INLINE uint64_t hak_arm_slack(unsigned code) {
  static const uint8_t percent[HAK_ARM_SLACKS + 1] = {0, 0, 5, 14, 28, 42};
  return percent[code];
}

#endif
