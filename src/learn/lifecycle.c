/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lifecycle.c: when to learn, when to freeze, and how to test a candidate; see lifecycle.h.
 *
 * what      A note is two sums, and P squared while a candidate is tried; a window's end takes a root and a few
 *           divisions.
 * failure   No overflow: costs are below 2^20, the squares of a window below 2^48; means with 8 bits of fraction are
 *           below 2^28, the variance of a mean below 2^56.
 */
#include "learn/lifecycle.h"

#include <string.h>

#include "base/bits.h"
#include "base/random.h"

enum { MEAN_LOG = 8, AVERAGED = 64 };

/* ---- sums ---- */

static void add(struct hak_spread *spread, uint32_t cost) {
  spread->sum += cost;
  spread->squares += (uint64_t)cost * cost;
  spread->count++;
}

static uint64_t mean_of(const struct hak_spread *spread) { return (spread->sum << MEAN_LOG) / spread->count; }

/* The variance of the costs, divided by the count. A cost's square is below 2^40, and the fraction has 16 bits. */
static uint64_t variance_of_mean(const struct hak_spread *spread) {
  uint64_t mean = mean_of(spread), squares = (spread->squares / spread->count) << (2 * MEAN_LOG);
  return squares > mean * mean ? (squares - mean * mean) / spread->count : 0;
}

/* ---- the test for an alarm ---- */

/* A running mean of the last 64 values or so. */
static void average(uint64_t *all, uint64_t one, uint32_t count) {
  uint64_t by = hak_min(count, AVERAGED);
  *all = one > *all ? *all + (one - *all) / by : *all - (*all - one) / by;
}

static int64_t at_least_0(int64_t n) { return n > 0 ? n : 0; }

/* `within` includes this window, `between` does not, and is 0 in the second window. */
static bool sums_exceed(struct hak_drift *drift, struct hak_life_rules rules, uint64_t mean) {
  uint64_t all = drift->sum / drift->windows;
  uint64_t deviation = hak_root(hak_max(drift->within, drift->between));
  int64_t allowed = (int64_t)hak_max(deviation * rules.allowed >> 4, all / rules.matters);
  int64_t alarm = (int64_t)hak_max(deviation * rules.alarm, all / rules.matters * 8);
  int64_t off = (int64_t)mean - (int64_t)all;
  drift->rise = at_least_0(drift->rise + off - allowed);
  drift->fall = at_least_0(drift->fall - off - allowed);
  return drift->rise > alarm || drift->fall > alarm;
}

static bool drifted(struct hak_drift *drift, struct hak_life_rules rules, const struct hak_spread *window) {
  uint64_t mean = mean_of(window);
  uint64_t step = mean > drift->last ? mean - drift->last : drift->last - mean;
  drift->windows++;
  drift->sum += mean;
  average(&drift->within, variance_of_mean(window), drift->windows);
  bool alarm = drift->windows > 1 && sums_exceed(drift, rules, mean);
  if (drift->windows > 1) average(&drift->between, step * step / 2, drift->windows - 1);
  drift->last = mean;
  return alarm;
}

static void enter(struct hak_life *life, enum hak_life_phase phase) {
  memset(&life->drift, 0, sizeof life->drift);
  life->quiet = 0;
  life->phase = phase;
}

/* Tests the window that ended, and changes the phase if due. */
static enum hak_life_news end_life_window(struct hak_life *life, struct hak_life_rules rules) {
  bool alarm = drifted(&life->drift, rules, &life->window);
  life->window = (struct hak_spread){.count = 0};
  if (alarm) {
    bool watched = life->phase == HAK_LIFE_WATCH;
    enter(life, HAK_LIFE_LEARN);
    life->trying = false;
    return watched ? HAK_LIFE_ALARM : HAK_LIFE_SAME;
  }
  life->quiet++;
  if (life->phase == HAK_LIFE_WATCH || life->quiet < rules.quiet) return HAK_LIFE_SAME;
  enter(life, HAK_LIFE_WATCH);
  return HAK_LIFE_FROZEN;
}

/* ---- a candidate ---- */

bool hak_life_offer(struct hak_life *life, struct hak_life_rules rules) {
  if (life->phase != HAK_LIFE_WATCH || life->trying) return false;
  life->own = life->tried = (struct hak_spread){.count = 0};
  memset(&life->own_p99, 0, sizeof life->own_p99);
  memset(&life->tried_p99, 0, sizeof life->tried_p99);
  life->decided = 0;
  life->place = rules.one_in + hak_random_below(&life->random, rules.one_in);
  return life->trying = true;
}

bool hak_life_decide(struct hak_life *life, struct hak_life_rules rules) {
  if (!life->trying) return false;
  bool candidate = life->decided == life->place;
  life->decided++;
  if (life->decided % rules.one_in == 0) life->place = life->decided + hak_random_below(&life->random, rules.one_in);
  return candidate;
}

/* True if the candidate's mean exceeds the policy's by at least `errors` standard errors; equal means exceed by 0. */
static bool above_by(const struct hak_life *life, int64_t errors) {
  int64_t apart = (int64_t)mean_of(&life->tried) - (int64_t)mean_of(&life->own);
  return apart >= errors * (int64_t)hak_root(variance_of_mean(&life->tried) + variance_of_mean(&life->own));
}

static bool p99_above(const struct hak_life *life, uint32_t sixteenths) {
  uint64_t tried = hak_quantile_estimate(&life->tried_p99, HAK_P99);
  return tried << 4 > (uint64_t)hak_quantile_estimate(&life->own_p99, HAK_P99) * sixteenths;
}

static enum hak_life_news end_trial(struct hak_life *life, bool promoted) {
  life->trying = false;
  if (!promoted) return HAK_LIFE_ROLLED_BACK;
  enter(life, HAK_LIFE_WATCH);
  life->window = (struct hak_spread){.count = 0};
  return HAK_LIFE_PROMOTED;
}

static enum hak_life_news judge_life(struct hak_life *life, struct hak_life_rules rules) {
  if (life->tried.count < rules.early || life->own.count < rules.early) return HAK_LIFE_SAME;
  if (above_by(life, rules.surely_worse) || p99_above(life, rules.early_worse)) return end_trial(life, false);
  if (life->tried.count < rules.trial) return HAK_LIFE_SAME;
  return end_trial(life, !above_by(life, -(int64_t)rules.surely_better) && !p99_above(life, rules.worse));
}

enum hak_life_news hak_life_note(struct hak_life *life, struct hak_life_rules rules, uint32_t cost, bool candidate) {
  cost = (uint32_t)hak_min(cost, HAK_LIFE_MOST);
  if (candidate) {
    if (!life->trying) return HAK_LIFE_SAME;
    add(&life->tried, cost);
    hak_quantile_note(&life->tried_p99, HAK_P99, cost);
    return judge_life(life, rules);
  }
  if (life->trying) {
    add(&life->own, cost);
    hak_quantile_note(&life->own_p99, HAK_P99, cost);
  }
  add(&life->window, cost);
  return life->window.count == rules.window ? end_life_window(life, rules) : HAK_LIFE_SAME;
}
