/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ucb.c: the cheapest of a few arms, when only the cost of the arm taken is seen; see ucb.h.
 *
 * what      A choice takes a logarithm by squaring, and a division and a root per arm; a note takes two sums, and with
 *           decay two more per arm.
 * failure   cost[arm] <= pulls[arm]. The mean's product is below 2^64 while pulls[arm] < 2^48: 2^32 pulls. The bonus is
 *           exact to 2^-14 of the range: ln(all) x width / 4 < 2^28 for width < 2^8.
 */
#include "learn/ucb.h"

#include "base/bits.h"

enum { PULL_LOG = 16, PULL = 1 << PULL_LOG };

/* log2(n) [2^-16]; n != 0. Each squaring of the mantissa gives a bit of the fraction. */
static uint64_t log2_of(uint64_t n) {
  unsigned whole = hak_highest_bit(n);
  uint64_t mantissa = n << (63 - whole) >> 32, fraction = 0; /* 2^31 is 1 */
  for (unsigned bit = 0; bit < 16; bit++) {
    mantissa = mantissa * mantissa >> 31;
    bool two = mantissa >> 32 != 0;
    fraction = fraction << 1 | two;
    mantissa >>= two;
  }
  return (uint64_t)whole << 16 | fraction;
}

uint64_t hak_ucb_bonus(uint64_t all, uint64_t pulls, uint32_t width) {
  enum { LN_2 = 45426 }; /* [2^-16] */
  if (all <= PULL) return 0;
  uint64_t ln = (log2_of(all) - ((uint64_t)PULL_LOG << 16)) * LN_2 >> 16;
  return hak_root((ln * width >> 2 << 32) / pulls);
}

uint64_t hak_ucb_mean(const struct hak_ucb *ucb, uint32_t arm) {
  return ucb->pulls[arm] != 0 ? (ucb->cost[arm] << PULL_LOG) / ucb->pulls[arm] : 0;
}

static int64_t optimistic(const struct hak_ucb *ucb, uint32_t arm, uint64_t all, uint32_t width) {
  return (int64_t)hak_ucb_mean(ucb, arm) - (int64_t)hak_ucb_bonus(all, ucb->pulls[arm], width);
}

static bool may_take(const struct hak_ucb *ucb, uint32_t arm) { return (ucb->dropped >> arm & 1) == 0; }

static uint32_t never_pulled(const struct hak_ucb *ucb, uint32_t arms) {
  for (uint32_t arm = 0; arm < arms; arm++)
    if (may_take(ucb, arm) && ucb->pulls[arm] == 0) return arm;
  return arms;
}

static uint32_t first_in(const struct hak_ucb *ucb) { return (uint32_t)__builtin_ctz(~ucb->dropped); }

uint32_t hak_ucb_choose(const struct hak_ucb *ucb, struct hak_ucb_rules rules) {
  uint32_t best = never_pulled(ucb, rules.arms);
  if (best < rules.arms) return best;
  uint64_t all = 0;
  for (uint32_t arm = 0; arm < rules.arms; arm++) all += ucb->pulls[arm];
  best = first_in(ucb);
  for (uint32_t arm = best + 1; arm < rules.arms; arm++) {
    if (!may_take(ucb, arm)) continue;
    if (optimistic(ucb, arm, all, rules.width) < optimistic(ucb, best, all, rules.width)) best = arm;
  }
  return best;
}

void hak_ucb_drop(struct hak_ucb *ucb, uint32_t arm) { ucb->dropped |= 1u << arm; }

/* Rounded up, so that a small sum decays to 0. Keeps cost <= pulls. */
static uint64_t part_of(uint64_t sum, uint32_t log) { return (sum >> log) + ((sum & ((1ull << log) - 1)) != 0); }

static void decay(struct hak_ucb *ucb, struct hak_ucb_rules rules) {
  for (uint32_t arm = 0; arm < rules.arms; arm++) {
    ucb->pulls[arm] -= part_of(ucb->pulls[arm], rules.decay_log);
    ucb->cost[arm] -= part_of(ucb->cost[arm], rules.decay_log);
  }
}

void hak_ucb_note(struct hak_ucb *ucb, struct hak_ucb_rules rules, uint32_t arm, uint32_t cost) {
  if (rules.decay_log != 0) decay(ucb, rules);
  ucb->pulls[arm] += PULL;
  ucb->cost[arm] += hak_min(cost, HAK_UCB_RANGE);
}

void hak_ucb_restore(struct hak_ucb *ucb, struct hak_ucb_rules rules, uint32_t arm, uint64_t pulls, uint64_t cost,
                     bool dropped) {
  uint32_t without = ucb->dropped | 1u << arm;
  ucb->pulls[arm] = pulls << PULL_LOG;
  ucb->cost[arm] = hak_min(cost, ucb->pulls[arm]);
  if (dropped && without != (1u << rules.arms) - 1) ucb->dropped = without;
}
