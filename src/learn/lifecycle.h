/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lifecycle.h: when to learn, when to freeze, and how to test a candidate.
 *
 * what      Two phases. Input: modelled costs, in windows of 256:
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
 *           The deviation of a window's mean is estimated from the costs within windows and from the difference of
 *           successive windows; the larger estimate counts. The test restarts in each phase.
 *
 *           Candidate: makes 1 of each 20 decisions, at a random place, from the second 20 on. From 64 costs on the
 *           candidate is rolled back if the p99 (P squared) is above twice the policy's, or the mean above the policy's
 *           by three standard errors. After 1,024 costs the candidate is promoted if the mean is below the policy's by
 *           two standard errors and the p99 is at most 9/8 of the policy's; else rolled back. An alarm rolls back, too.
 * owner     The caller, which serializes all calls. All zeros: nothing learnt, the phase `learn`.
 * failure   A cost above HAK_LIFE_MOST counts as HAK_LIFE_MOST; the caller scales costs.
 * not here  The thing learnt, frozen or tried, and its cost: the caller. Figures: lab/docs/learners.md.
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
  uint32_t window;  /* [costs] */
  uint32_t quiet;   /* windows without an alarm before freezing */
  uint32_t allowed; /* [1/16 deviation] */
  uint32_t alarm;   /* [deviations] */
  uint32_t matters; /* allowed is at least mean / matters, alarm 8 mean / matters */
  uint32_t one_in;  /* the candidate makes 1 of one_in decisions */
  uint32_t early;   /* costs of the candidate before an early roll-back */
  uint32_t trial;   /* costs of the candidate before the verdict */
  uint32_t early_worse, worse; /* [1/16 of the policy's p99] */
  uint32_t surely_worse, surely_better; /* [standard errors] */
};

static inline struct hak_life_rules hak_life_usual(void) {
  return (struct hak_life_rules){
      .window = 256, .quiet = 3, .allowed = 8, .alarm = 8, .matters = 32, .one_in = 20, .early = 64, .trial = 1024,
      .early_worse = 32, .worse = 18, .surely_worse = 3, .surely_better = 2};
}

/* Page's and Hinkley's test. Means and deviations: 1 << 8 is 1. */
struct hak_drift {
  uint64_t sum;             /* of all windows' means */
  /* variance of a window's mean: of costs within windows, of successive windows; running means */
  uint64_t within, between;
  int64_t rise, fall;
  uint64_t last;
  uint32_t windows;
};

/* Sums of costs. */
struct hak_spread {
  uint64_t sum, squares;
  uint32_t count;
};

struct hak_life {
  struct hak_drift drift;
  struct hak_spread window, own, tried; /* own, tried: since the offer, of the policy and of the candidate */
  struct hak_quantile own_p99, tried_p99;
  uint32_t quiet;          /* windows since the phase began */
  uint32_t random;
  uint32_t decided, place; /* decisions since the offer; the place of the candidate's next decision */
  enum hak_life_phase phase;
  bool trying;
};

/* Offers a candidate. False: refused, while learning or while a candidate is tried. */
bool hak_life_offer(struct hak_life *life, struct hak_life_rules rules);

/* True if this decision is the candidate's. */
bool hak_life_decide(struct hak_life *life, struct hak_life_rules rules);

/* Notes the cost of a decision, of the candidate or of the policy. HAK_LIFE_ALARM ends the candidate's trial, if
 * any. */
enum hak_life_news hak_life_note(struct hak_life *life, struct hak_life_rules rules, uint32_t cost, bool candidate);

#endif
