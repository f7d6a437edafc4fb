/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lifecycle.h: when to learn, when to leave what was learnt alone, and how to try something else.
 *
 * what      Two phases, told by windows of 256 events' modelled costs:
 *
 *                         three windows without an alarm
 *               learn  ----------------------------------->  watch  ---- offer ---->  a candidate is tried
 *                 ^                                            |  ^                     |            |
 *                 +---------------- alarm ---------------------+  +--- rolled back -----+            |
 *                                                                 +--- promoted ---------------------+
 *
 *           Alarm: the test of Page (1954) and Hinkley (1971) on the windows' mean costs, for rises and falls:
 *
 *               rise = max(0, rise + mean - mean of all - allowed)     > alarm     (fall likewise)
 *               allowed = max(deviation / 2, mean / 32)                alarm = max(8 x deviation, mean / 4)
 *
 *           The deviation of a window's mean is taken from the costs within windows, or from how windows differ from
 *           the one before, whichever is more. The test begins anew in each phase.
 *
 *           Candidate: takes one decision of each 20, at a random place, the first 20 excepted, so at most one in 20
 *           at any time. From 64 costs on it is rolled back when its p99 (P squared) is above twice that of the policy
 *           beside it, or its mean by three standard errors. After 1,024 it is promoted if its mean is below
 *           by two and its p99 is not above 9/8; else rolled back. An alarm ends the trial, too.
 * owner     The caller, who has one thread in here at a time. All zeros is who knows nothing: it learns.
 * failure   Costs from HAK_LIFE_MOST on count as that; the caller scales them.
 * not here  What is learnt, frozen or tried, and what it costs: the caller. Figures: lab/docs/learners.md.
 */
#ifndef HAK_LEARN_LIFECYCLE_H
#define HAK_LEARN_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "learn/quantile.h"

enum { HAK_LIFE_MOST = (1 << 20) - 1 };
enum hak_life_phase { HAK_LIFE_LEARN, HAK_LIFE_WATCH };
enum hak_life_news { HAK_LIFE_SAME, HAK_LIFE_FROZEN, HAK_LIFE_ALARM, HAK_LIFE_PROMOTED, HAK_LIFE_ROLLED_BACK };

struct hak_life_rules {
  uint32_t window;  /* costs */
  uint32_t quiet;   /* windows without an alarm after which what was learnt is frozen */
  uint32_t allowed; /* in sixteenths of a deviation */
  uint32_t alarm;   /* in deviations */
  uint32_t matters; /* a mean's part: allowed is one at least, alarm eight */
  uint32_t one_in;  /* decisions, of which one is the candidate's */
  uint32_t early;   /* costs of the candidate before it may be rolled back, */
  uint32_t trial;   /* and after which it is judged */
  uint32_t early_worse, worse; /* in sixteenths of the other's p99 */
  uint32_t surely_worse, surely_better; /* in standard errors */
};

static inline struct hak_life_rules hak_life_usual(void) {
  return (struct hak_life_rules){
      .window = 256, .quiet = 3, .allowed = 8, .alarm = 8, .matters = 32, .one_in = 20, .early = 64, .trial = 1024,
      .early_worse = 32, .worse = 18, .surely_worse = 3, .surely_better = 2};
}

/* Page's and Hinkley's test. Means and deviations: 1 << 8 is 1. */
struct hak_drift {
  uint64_t sum;             /* of all windows' means */
  uint64_t within, between; /* variance of a window's mean, both ways; running means */
  int64_t rise, fall;
  uint64_t last;
  uint32_t windows;
};

/* Costs. */
struct hak_spread {
  uint64_t sum, squares;
  uint32_t count;
};

struct hak_life {
  struct hak_drift drift;
  struct hak_spread window, own, tried; /* own, tried: since the offer, the policy's and the candidate's */
  struct hak_quantile own_p99, tried_p99;
  uint32_t quiet;          /* windows since the phase began */
  uint32_t random;
  uint32_t decided, place; /* since the offer; where the candidate's next decision is */
  enum hak_life_phase phase;
  bool trying;
};

/* A candidate is there. Refused while learning or while another is tried. */
bool hak_life_offer(struct hak_life *life, struct hak_life_rules rules);

/* Is this decision the candidate's? */
bool hak_life_decide(struct hak_life *life, struct hak_life_rules rules);

/* What a decision cost, and whose it was. After HAK_LIFE_ALARM the candidate, if any, is rolled back too. */
enum hak_life_news hak_life_note(struct hak_life *life, struct hak_life_rules rules, uint32_t cost, bool candidate);

#endif
