/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* elo.c: a ladder of thresholds, rated by matches of two; see elo.h.
 *
 * what      A note is a sum; the last note of a match adds two divisions and passes over twelve arms.
 */
#include "learn/elo.h"

#include "base/bits.h"
#include "base/random.h"

enum { PLAYED_IN = 4 }; /* windows: a b b a */

/* ---- the ladder, and the expected score ---- */

/* At every 50 points; linear interpolation is off by at most 0.001. */
static const uint16_t expected_at[] = {
    32768, 37451, 41947, 46097, 49791, 52974, 55641, 57825, 59578, 60964, 62047,
    62884, 63527, 64018, 64391, 64674, 64887, 65048, 65170, 65261, 65329, 65381,
    65420, 65449, 65471, 65487, 65499, 65508, 65515, 65520, 65524, 65527, 65529,
};
enum { STEP = 50 * HAK_ELO_POINT, STEPS = sizeof expected_at / sizeof *expected_at };

uint32_t hak_elo_expected(int32_t ahead) {
  if (ahead < 0) return HAK_ELO_ONE - hak_elo_expected(-ahead);
  uint32_t step = (uint32_t)ahead / STEP, rest = (uint32_t)ahead % STEP;
  if (step >= STEPS - 1) return expected_at[STEPS - 1];
  return expected_at[step] + (expected_at[step + 1] - expected_at[step]) * rest / STEP;
}

/* The opponent's share of the cost of both; 1/2 if both costs are 0. */
static uint32_t score(uint64_t mine, uint64_t other) {
  unsigned bits = hak_highest_bit(mine | other | 1), cut = bits > 45 ? bits - 45 : 0;
  mine >>= cut;
  other >>= cut;
  return mine + other == 0 ? HAK_ELO_ONE / 2 : (uint32_t)((other << 16) / (mine + other));
}

/* ---- pairing ---- */

static bool is_in(const struct hak_elo *elo, uint32_t arm) { return (elo->retired >> arm & 1) == 0; }
uint32_t hak_elo_left(const struct hak_elo *elo) { return HAK_ELO_ARMS - (uint32_t)__builtin_popcount(elo->retired); }
uint32_t hak_elo_incumbent(const struct hak_elo *elo) { return elo->incumbent ^ HAK_ELO_FIRST; }

/* The arm with the fewest matches, except the incumbent. */
static uint32_t challenger(const struct hak_elo *elo) {
  uint32_t best = HAK_ELO_ARMS, most = UINT32_MAX;
  for (uint32_t arm = 0; arm < HAK_ELO_ARMS; arm++) {
    if (!is_in(elo, arm) || arm == hak_elo_incumbent(elo) || elo->played[arm] >= most) continue;
    best = arm;
    most = elo->played[arm];
  }
  return best;
}

/* The n-th arm not retired. */
static uint32_t nth(const struct hak_elo *elo, uint32_t n) {
  uint32_t arm = 0;
  for (; !is_in(elo, arm) || n != 0; arm++) n -= is_in(elo, arm);
  return arm;
}

static void pair(struct hak_elo *elo, struct hak_elo_rules rules) {
  elo->side[0] = (uint8_t)hak_elo_incumbent(elo);
  elo->side[1] = (uint8_t)challenger(elo);
  if (hak_random_below(&elo->random, 256) < rules.epsilon) {
    uint32_t n = hak_elo_left(elo), first = hak_random_below(&elo->random, n);
    uint32_t second = hak_random_below(&elo->random, n - 1);
    elo->side[0] = (uint8_t)nth(elo, first);
    elo->side[1] = (uint8_t)nth(elo, second + (second >= first));
  }
  elo->cost[0] = elo->cost[1] = 0;
  elo->windows = 0;
  elo->playing = true;
}

static unsigned side_of(uint8_t windows) { return windows == 1 || windows == 2; }

uint32_t hak_elo_choose(struct hak_elo *elo, struct hak_elo_rules rules) {
  if (!elo->playing) pair(elo, rules);
  return elo->side[side_of(elo->windows)];
}

/* ---- ratings ---- */

/* Falls with the number of arms left, so that the ratings settle. */
static int32_t gain(const struct hak_elo *elo, struct hak_elo_rules rules) {
  return (int32_t)(rules.gain * hak_max(hak_elo_left(elo), rules.still) / HAK_ELO_ARMS);
}

static void rate(struct hak_elo *elo, struct hak_elo_rules rules) {
  uint32_t a = elo->side[0], b = elo->side[1];
  int32_t expected = (int32_t)hak_elo_expected(elo->rating[a] - elo->rating[b]);
  int64_t off = (int32_t)score(elo->cost[0], elo->cost[1]) - expected;
  int32_t points = (int32_t)(off * gain(elo, rules) * HAK_ELO_POINT / HAK_ELO_ONE);
  elo->rating[a] += points;
  elo->rating[b] -= points;
  elo->played[a]++;
  elo->played[b]++;
}

static void crown(struct hak_elo *elo) {
  uint32_t best = hak_elo_incumbent(elo);
  for (uint32_t arm = 0; arm < HAK_ELO_ARMS; arm++)
    if (is_in(elo, arm) && elo->rating[arm] > elo->rating[best]) best = arm;
  elo->incumbent = (uint8_t)(best ^ HAK_ELO_FIRST);
}

static uint32_t weakest(const struct hak_elo *elo) {
  uint32_t worst = HAK_ELO_ARMS;
  for (uint32_t arm = 0; arm < HAK_ELO_ARMS; arm++) {
    if (!is_in(elo, arm) || arm == hak_elo_incumbent(elo)) continue;
    if (worst == HAK_ELO_ARMS || elo->rating[arm] < elo->rating[worst]) worst = arm;
  }
  return worst;
}

static bool round_is_over(const struct hak_elo *elo, struct hak_elo_rules rules) {
  for (uint32_t arm = 0; arm < HAK_ELO_ARMS; arm++)
    if (is_in(elo, arm) && elo->played[arm] < rules.matches) return false;
  return true;
}

static void retire(struct hak_elo *elo, struct hak_elo_rules rules) {
  uint32_t stay = (uint32_t)hak_max(hak_elo_left(elo) - hak_elo_left(elo) / 2, hak_max(rules.least, 2));
  while (hak_elo_left(elo) > stay) elo->retired |= 1u << weakest(elo);
  for (uint32_t arm = 0; arm < HAK_ELO_ARMS; arm++) elo->played[arm] = 0;
}

void hak_elo_note(struct hak_elo *elo, struct hak_elo_rules rules, uint64_t cost) {
  if (!elo->playing) pair(elo, rules);
  uint64_t *sum = &elo->cost[side_of(elo->windows)];
  *sum += cost <= UINT64_MAX - *sum ? cost : UINT64_MAX - *sum;
  if (++elo->windows < PLAYED_IN) return;
  elo->playing = false;
  rate(elo, rules);
  crown(elo);
  if (round_is_over(elo, rules)) retire(elo, rules);
}

/* If the incumbent is dropped, the best rated of the arms left becomes incumbent. */
void hak_elo_drop(struct hak_elo *elo, uint32_t arm) {
  if (hak_elo_left(elo) <= 2) return;
  elo->retired |= 1u << arm;
  if (elo->side[0] == arm || elo->side[1] == arm) elo->playing = false;
  if (arm != hak_elo_incumbent(elo)) return;
  elo->incumbent = (uint8_t)(nth(elo, 0) ^ HAK_ELO_FIRST);
  crown(elo);
}

void hak_elo_restore(struct hak_elo *elo, uint32_t arm, int32_t rating, uint32_t played, bool retired) {
  elo->rating[arm] = rating;
  elo->played[arm] = played;
  elo->playing = false;
  if (retired && is_in(elo, arm)) hak_elo_drop(elo, arm);
  crown(elo);
}
