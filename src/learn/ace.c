/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ace.c: the capacity of a class's magazine, adapted to cost; see ace.h.
 *
 * what      A note is three models of a window, three decayed sums and two comparisons.
 * failure   No overflow: a window has below 2^36 modelled slow calls; a sum below 2^40, in units of 2^-8; the cost of a
 *           sum is below 2^64, the rent below 2^52.
 */
#include "learn/ace.h"

#include "base/bits.h"

enum { SLOW_CALL_LOG = 8, NS_LOG = 4, MOST_WAIT = 16 };
enum { MOST_US = 1 << 24, MOST_PRICE = 1 << 24, MOST_SLOW_CALL_NS = 1 << 20 };
enum { BELOW, HERE, ABOVE };

/* ---- the modelled cost of a window ---- */

/* Blocks that a slow call moves at this capacity. */
static uint64_t blocks_moved(struct hak_ace_rules rules, uint32_t capacity) {
  return hak_min(capacity / 2, rules.most_moved);
}

/* Slow calls of a single swing by `swing` blocks, at this capacity. */
static uint64_t slow_calls_of_swing(struct hak_ace_rules rules, uint32_t swing, uint32_t capacity) {
  if (swing <= capacity) return 0;
  uint64_t both_ways = (uint64_t)(swing - capacity) << (SLOW_CALL_LOG + 1);
  return hak_max(both_ways / blocks_moved(rules, capacity), 2 << SLOW_CALL_LOG);
}

static uint64_t slow_calls_below(struct hak_ace_rules rules, const struct hak_ace_window *window, uint64_t slow_calls,
                                 uint32_t capacity) {
  uint64_t rise = ((uint64_t)window->turns << SLOW_CALL_LOG) * (capacity / 2);
  if (slow_calls == 0) return slow_calls_of_swing(rules, window->most - window->least, capacity / 2);
  return (slow_calls * blocks_moved(rules, capacity) + rise) / blocks_moved(rules, capacity / 2);
}

static uint64_t slow_calls_above(struct hak_ace_rules rules, const struct hak_ace_window *window, uint64_t slow_calls,
                                 uint32_t capacity) {
  uint64_t rise = ((uint64_t)window->turns << SLOW_CALL_LOG) * capacity;
  uint64_t moved = slow_calls * blocks_moved(rules, capacity);
  return moved > rise ? (moved - rise) / blocks_moved(rules, 2 * capacity) : 0;
}

static uint64_t rent_of_held(const struct hak_ace_window *window, uint32_t price) {
  uint64_t kib_us = hak_min(window->held, UINT32_MAX) * hak_min(window->us, MOST_US) >> 10;
  return (kib_us >> (10 - NS_LOG)) * hak_min(price, MOST_PRICE) / 1000000;
}

uint64_t hak_ace_paid(struct hak_ace_rules rules, const struct hak_ace_window *window) {
  uint64_t slow_calls = (uint64_t)window->refills + window->flushes;
  return slow_calls * rules.slow_call_ns + (rent_of_held(window, rules.price) >> NS_LOG);
}

/* ---- sums ---- */

static void sum_up_window(uint64_t *sum, uint64_t one, uint32_t memory) { *sum += one - (*sum >> memory); }

static void remember(struct hak_ace *ace, struct hak_ace_rules rules, const struct hak_ace_window *window) {
  uint64_t slow_calls = ((uint64_t)window->refills + window->flushes) << SLOW_CALL_LOG;
  uint32_t capacity = hak_ace_capacity(ace, rules);
  sum_up_window(&ace->slow_calls[BELOW], slow_calls_below(rules, window, slow_calls, capacity), rules.memory);
  sum_up_window(&ace->slow_calls[HERE], slow_calls, rules.memory);
  sum_up_window(&ace->slow_calls[ABOVE], slow_calls_above(rules, window, slow_calls, capacity), rules.memory);
  sum_up_window(&ace->rent, rent_of_held(window, rules.price), rules.memory);
}

/* Cost of the rung `at`: BELOW has half of the rent of HERE, ABOVE twice. */
static uint64_t cost_of(const struct hak_ace *ace, struct hak_ace_rules rules, unsigned at) {
  uint64_t ns = hak_min(rules.slow_call_ns, MOST_SLOW_CALL_NS);
  return (ace->slow_calls[at] >> (SLOW_CALL_LOG - NS_LOG)) * ns + (ace->rent << at >> 1);
}

static bool is_cheaper(const struct hak_ace *ace, struct hak_ace_rules rules, unsigned at) {
  uint64_t here = cost_of(ace, rules, HERE);
  return cost_of(ace, rules, at) < here - here / 64 * rules.margin;
}

/* ---- moves ---- */

static void go_up(struct hak_ace *ace, struct hak_ace_rules rules) {
  if (ace->since_down != 0 && ace->since_down <= rules.soon) {
    ace->bar = 1u << (rules.wait_log + ace->wait);
    if (ace->wait + rules.wait_log < MOST_WAIT) ace->wait++;
  }
  ace->slow_calls[BELOW] = ace->slow_calls[HERE];
  ace->slow_calls[HERE] = ace->slow_calls[ABOVE];
  ace->slow_calls[ABOVE] /= 2;
  ace->rent *= 2;
  ace->since_down = 0;
  ace->rung++;
}

static void go_down(struct hak_ace *ace) {
  ace->slow_calls[ABOVE] = ace->slow_calls[HERE];
  ace->slow_calls[HERE] = ace->slow_calls[BELOW];
  ace->slow_calls[BELOW] *= 2;
  ace->rent /= 2;
  ace->since_down = 1;
  ace->rung--;
}

bool hak_ace_note(struct hak_ace *ace, struct hak_ace_rules rules, const struct hak_ace_window *window) {
  remember(ace, rules, window);
  if (ace->since_down != 0 && ace->since_down != UINT8_MAX) ace->since_down++;
  if (ace->bar != 0) ace->bar--;
  if (ace->rung + 1u < rules.rungs && is_cheaper(ace, rules, ABOVE)) {
    go_up(ace, rules);
    return true;
  }
  bool swings = ace->slow_calls[BELOW] >= 1 << SLOW_CALL_LOG;
  if (ace->rung == 0 || (swings && ace->bar != 0) || !is_cheaper(ace, rules, BELOW)) return false;
  go_down(ace);
  return true;
}

/* ---- numbers of a policy ---- */

void hak_ace_sums(const struct hak_ace *ace, uint64_t sum[HAK_ACE_SUMS]) {
  for (unsigned at = BELOW; at <= ABOVE; at++) sum[at] = hak_min(ace->slow_calls[at], HAK_ACE_SUM_MOST);
  sum[ABOVE + 1] = hak_min(ace->rent, HAK_ACE_SUM_MOST);
}

void hak_ace_restore(struct hak_ace *ace, uint8_t rung, const uint64_t sum[HAK_ACE_SUMS]) {
  *ace = (struct hak_ace){.slow_calls = {sum[BELOW], sum[HERE], sum[ABOVE]}, .rent = sum[ABOVE + 1], .rung = rung};
}
