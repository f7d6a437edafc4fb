/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* arms.c: the values that a learnt decision may take; see arms.h.
 *
 * what      The tables hold numbers only, no addresses: loading relocates nothing here.
 */
#include "base/arms.h"

#include "base/bits.h"

uint64_t hak_arm_time(unsigned arm, uint64_t break_even) {
  if (arm == 0) return 0;
  if (break_even == UINT64_MAX && arm >= HAK_ARM_BREAK_EVEN) return UINT64_MAX;
  if (arm <= HAK_ARM_BREAK_EVEN) return break_even >> (HAK_ARM_BREAK_EVEN - arm);
  unsigned shift = arm - HAK_ARM_BREAK_EVEN;
  return break_even > UINT64_MAX >> shift ? UINT64_MAX : break_even << shift;
}

uint64_t hak_arm_threshold(uint32_t arm) {
  static const uint8_t units[HAK_ARM_THRESHOLDS] = {1, 0, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64}; /* [512 KiB]; 0: 1.5 */
  return units[arm] == 0 ? 768 << 10 : (uint64_t)units[arm] << 19;
}
