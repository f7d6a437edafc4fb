/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* elo.h: a ladder of thresholds, rated by matches of two.
 *
 * what      Elo (1978), for thresholds of which only one can be tried at a time. A match is four windows of one pair,
 *           taken as a b b a, so that a load that grows steadily favours neither. The score is each side's share of
 *           what the other paid, which is Elo's expected score for strengths 1 / cost (Bradley and Terry, 1952):
 *
 *               score of a  =  cost of b / (cost of a + cost of b)              expected  =  1 / (1 + 10^(-d / 400))
 *               rating of a +=  gain x (score - expected)                       d  =  rating of a - rating of b
 *
 *           so ten times the cost is 400 points less, and a tenth more 16.6. The sum of all ratings stays.
 *           The incumbent, the best rated one, plays the one that has the fewest matches behind it; one match in ten is
 *           between any two, at random. When all have played often enough, the weakest half is retired, never below two
 *           and never the incumbent, and the gain is less: in proportion to those left, down to four.
 * owner     The caller, who has one thread in here at a time. All zeros is who knows nothing.
 * not here  The windows and what they cost: the caller. What the constants are worth: lab/docs/learners.md.
 */
#ifndef HAK_LEARN_ELO_H
#define HAK_LEARN_ELO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arms.h"

/* The first incumbent is arm 2, 1 MiB. */
enum { HAK_ELO_ARMS = HAK_ARM_THRESHOLDS, HAK_ELO_FIRST = 2 };
enum { HAK_ELO_START = 1500, HAK_ELO_POINT = 1 << 8, HAK_ELO_ONE = 1 << 16 };

struct hak_elo_rules {
  uint32_t gain;    /* points, for a match won outright while none is retired */
  uint32_t epsilon; /* of 256 matches, how many are at random */
  uint32_t matches; /* of each before the weakest half is retired */
  uint32_t least;   /* that are never retired, 2 at the least */
  uint32_t still;   /* arms left at which the gain falls no more */
};

static inline struct hak_elo_rules hak_elo_usual(void) {
  return (struct hak_elo_rules){.gain = 32, .epsilon = 26, .matches = 32, .least = 2, .still = 4};
}

struct hak_elo {
  int32_t rating[HAK_ELO_ARMS]; /* above HAK_ELO_START; 1 << 8 is a point */
  uint32_t played[HAK_ELO_ARMS]; /* since the last were retired */
  uint64_t cost[2];              /* of this match */
  uint32_t retired;              /* a bit an arm */
  uint32_t random;
  uint8_t incumbent, side[2];    /* incumbent: its bits that differ from HAK_ELO_FIRST; side: of this match */
  uint8_t windows;               /* of this match that are over */
  bool playing;
};

/* The arm for this window, the same until its cost is noted. */
uint32_t hak_elo_choose(struct hak_elo *elo, struct hak_elo_rules rules);

/* What this window cost. */
void hak_elo_note(struct hak_elo *elo, struct hak_elo_rules rules, uint64_t cost);

uint32_t hak_elo_incumbent(const struct hak_elo *elo);

/* Retires this arm at once, and ends its match, unless two are left. */
void hak_elo_drop(struct hak_elo *elo, uint32_t arm);

/* Arms that are not retired. */
uint32_t hak_elo_left(const struct hak_elo *elo);

/* 1 / (1 + 10^(-ahead / 400)), HAK_ELO_ONE is 1; `ahead` in HAK_ELO_POINTs. */
uint32_t hak_elo_expected(int32_t ahead);

#endif
