/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* elo.h: a ladder of thresholds, rated by matches of two.
 *
 * what      Elo ratings (1978) of thresholds, as only a single threshold can be tried at a time. A match is four
 *           windows of a pair in the order a b b a, so a load that grows steadily favours neither side. The score of a
 *           side is the opponent's share of the cost, which is Elo's expected score for strengths 1 / cost (Bradley
 *           and Terry, 1952):
 *
 *               score of a  =  cost of b / (cost of a + cost of b)              expected  =  1 / (1 + 10^(-d / 400))
 *               rating of a +=  gain x (score - expected)                       d  =  rating of a - rating of b
 *
 *           so ten times the cost is 400 points less, and 1.1 times the cost 16.6. The sum of all ratings is constant.
 *           The incumbent, the arm rated best, plays the arm with the fewest matches; 1 match in 10 is between any two
 *           arms, at random. When all arms have played enough matches, the weakest half is retired, but never the
 *           incumbent, and at least two arms stay. The gain falls in proportion to the arms left, down to four arms.
 * owner     The caller, which serializes all calls. All zeros: nothing learnt.
 * not here  The windows and their cost: the caller. The worth of the constants: lab/docs/learners.md.
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
  uint32_t gain;    /* [points] for a match won outright while no arm is retired */
  uint32_t epsilon; /* [1/256] share of matches at random */
  uint32_t matches; /* per arm before the weakest half is retired */
  uint32_t least;   /* arms that are never retired, at least 2 */
  uint32_t still;   /* arms left at which the gain stops falling */
};

static inline struct hak_elo_rules hak_elo_usual(void) {
  return (struct hak_elo_rules){.gain = 32, .epsilon = 26, .matches = 32, .least = 2, .still = 4};
}

struct hak_elo {
  int32_t rating[HAK_ELO_ARMS]; /* above HAK_ELO_START; 1 << 8 is a point */
  uint32_t played[HAK_ELO_ARMS]; /* matches since the last retirement */
  uint64_t cost[2];              /* of this match, by side */
  uint32_t retired;              /* bit: arm */
  uint32_t random;
  uint8_t incumbent, side[2];    /* incumbent: XOR HAK_ELO_FIRST; side: arms of this match */
  uint8_t windows;               /* of this match, noted */
  bool playing;
};

/* The arm for this window; the same until the window's cost is noted. */
uint32_t hak_elo_choose(struct hak_elo *elo, struct hak_elo_rules rules);

/* Notes the cost of this window. */
void hak_elo_note(struct hak_elo *elo, struct hak_elo_rules rules, uint64_t cost);

uint32_t hak_elo_incumbent(const struct hak_elo *elo);

/* Retires this arm at once, and ends the arm's match, unless two arms are left. */
void hak_elo_drop(struct hak_elo *elo, uint32_t arm);

/* Puts the rating and the matches of an arm in place, and retires the arm if so, as hak_elo_drop does. Ends the
 * match. */
void hak_elo_restore(struct hak_elo *elo, uint32_t arm, int32_t rating, uint32_t played, bool retired);

/* Number of arms not retired. */
uint32_t hak_elo_left(const struct hak_elo *elo);

/* 1 / (1 + 10^(-ahead / 400)) [1 / HAK_ELO_ONE]; `ahead` [1 / HAK_ELO_POINT points]. */
uint32_t hak_elo_expected(int32_t ahead);

#endif
