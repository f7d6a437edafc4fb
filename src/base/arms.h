/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* arms.h: the values that a decision may take.
 *
 * what      Three ladders. What is learnt chooses a rung; each reader turns the rung into its number here.
 *
 *               keep time, of a break-even time      0   1/16   1/8   1/4   1/2   1   2   4
 *               threshold of big blocks              512 KiB .. 32 MiB, 12 rungs
 *               slack, in percent of the most        as the price says, 0, 5, 14, 28, 42
 * owner     Pure functions.
 * not here  Which rung: src/learn. What it does: retain/rent.c, tables/threshold.h.
 */
#ifndef HAK_BASE_ARMS_H
#define HAK_BASE_ARMS_H

#include <stdint.h>

#include "base/bits.h"

enum { HAK_ARMS = 8, HAK_ARM_BREAK_EVEN = 5, HAK_ARM_THRESHOLDS = 12, HAK_ARM_SLACKS = 5 };

/* The keep time of an arm; a break-even of UINT64_MAX is for ever, and so are the arms as long and longer. */
uint64_t hak_arm_time(unsigned arm, uint64_t break_even);

/* Bytes: 512 KiB, 768 KiB, 1 MiB, 1.5 MiB ... 8 MiB, 12 MiB, 16 MiB, 32 MiB. */
uint64_t hak_arm_threshold(uint32_t arm);

/* The percentage of this code of slack, 1 .. 5. */
HAK_INLINE uint64_t hak_arm_slack(unsigned code) {
  static const uint8_t percent[HAK_ARM_SLACKS + 1] = {0, 0, 5, 14, 28, 42};
  return percent[code];
}

#endif
