/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* controller.c: decisions for the whole process, learnt from windows of slow calls; see controller.h.
 *
 * what      A window's end costs a dozen products, a note and a choice among at most twelve arms.
 */
#include "learn/controller.h"

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"

enum {
  MEASURED = 8,   /* windows of incumbents before any arm is tried */
  AVERAGED = 16,  /* windows in the mean of the usual cost */
  TURN = 4,       /* [windows] a match of elo */
  PULLS = 16,     /* mean pulls per arm after which a decision is settled */
  MATCHES = 1024, /* [windows] after which the threshold is settled, whichever arms are left */
  TOO_MUCH = 2,   /* x the usual cost: the arm is dropped */
  SURELY = 32,    /* a candidate's mean must be below the incumbent's by 1/32 */
  POINTS = 5,     /* the same margin in Elo points */
  RANGE = 4,      /* x the usual cost: the range of ucb's costs */
  COST_LOG = 3,   /* lifecycle.h counts in 8 ns: at most 8 ms per slow call */
  SOUND_LOG = 40
};

/* A cost is a mean over 256 slow calls already. The candidate has at most two windows of 42, an uncounted window to
 * settle and a counted window; a third, uncounted, settles the incumbent afterwards. */
static struct hak_life_rules life_rules(void) {
  struct hak_life_rules rules = hak_life_usual();
  rules.window = 8;
  rules.one_in = 40;
  rules.early = 4;
  rules.trial = 16;
  return rules;
}

/* Leaves two thresholds after about 500 windows instead of 2,000. */
static struct hak_elo_rules elo_rules(void) {
  struct hak_elo_rules rules = hak_elo_usual();
  rules.matches = 4;
  return rules;
}

static uint32_t arms_of(unsigned what) { return what == HAK_TUNED_SLACK ? 1 + HAK_ARM_SLACKS : 2; }

/* No decay: an alarm forgets all instead. */
static struct hak_ucb_rules ucb_rules(unsigned what) {
  struct hak_ucb_rules rules = hak_ucb_usual(arms_of(what));
  rules.decay_log = 0;
  return rules;
}

/* ---- the cost of a window ---- */

static uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t plus(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

uint64_t hak_window_paid(const struct hak_window *then, const struct hak_window *now) {
  uint64_t calls = now->calls - then->calls, pages = now->pages - then->pages, moved = now->moved - then->moved;
  uint64_t all = plus(times(calls, now->call_ns), times(pages, now->page_ns)), rent = now->rent - then->rent;
  return plus(all, plus(times(moved, now->move_ns), times(rent >> 10, now->price) / 1000000));
}

bool hak_window_cost(const struct hak_window *then, const struct hak_window *now, uint64_t *cost) {
  uint64_t slow_calls = now->slow_calls - then->slow_calls, calls = now->calls - then->calls;
  uint64_t pages = now->pages - then->pages, moved = now->moved - then->moved, rent = now->rent - then->rent;
  *cost = slow_calls != 0 ? hak_window_paid(then, now) / slow_calls : 0;
  return slow_calls != 0 && (slow_calls | calls | pages | moved) >> SOUND_LOG == 0 && rent >> 63 == 0;
}

/* ---- the ring ---- */

void hak_changes_start(struct hak_changes *ring) {
  ring->rows = HAK_CHANGE_ROWS;
  ring->row_bytes = sizeof(struct hak_change);
  ring->count = 0;
  memcpy(ring->magic, "HAKCHG01", sizeof ring->magic);
}

static void write_row(struct hak_controller *c, struct hak_change row) {
  row.number = ++c->changes;
  c->ring->row[(row.number - 1) % HAK_CHANGE_ROWS] = row;
  hak_store_release(&c->ring->count, row.number);
}

static void tell_change(struct hak_controller *c, enum hak_change_kind kind, unsigned what, unsigned to,
                        uint64_t cost) {
  c->told[kind]++;
  if (c->ring == NULL) return;
  write_row(c, (struct hak_change){.when = c->last.now_ns,
                                   .window = c->windows,
                                   .cost = (uint32_t)hak_min(cost, UINT32_MAX),
                                   .before = (uint32_t)hak_min(c->usual, UINT32_MAX),
                                   .what = (uint8_t)what,
                                   .kind = (uint8_t)kind,
                                   .from = what < HAK_TUNED ? c->arm[what] : 0,
                                   .to = (uint8_t)to});
}

/* ---- elo for the threshold, ucb for the rest ---- */

static bool is_threshold(unsigned what) { return what == HAK_TUNED_THRESHOLD; }
static unsigned code_of_rung(uint32_t rung) { return rung == HAK_ELO_FIRST ? 0 : rung + 1; }
static uint32_t rung_of_code(unsigned code) { return code == 0 ? HAK_ELO_FIRST : code - 1; }

static unsigned choose(struct hak_controller *c, unsigned what) {
  if (is_threshold(what)) return code_of_rung(hak_elo_choose(&c->elo, elo_rules()));
  return hak_ucb_choose(&c->ucb[what], ucb_rules(what));
}

/* A cost as a part of ucb's range. */
static uint32_t share_of_range(const struct hak_controller *c, uint64_t cost) {
  uint64_t range = hak_max(times(c->usual, RANGE), 1);
  return cost >= range ? HAK_UCB_RANGE : (uint32_t)(times(cost, HAK_UCB_RANGE) / range);
}

static void learn(struct hak_controller *c, unsigned what, uint64_t cost) {
  c->tried[what]++;
  if (is_threshold(what)) hak_elo_note(&c->elo, elo_rules(), cost);
  else hak_ucb_note(&c->ucb[what], ucb_rules(what), c->now[what], share_of_range(c, cost));
}

static void drop(struct hak_controller *c, unsigned what, uint64_t cost) {
  unsigned arm = c->now[what];
  if (is_threshold(what)) hak_elo_drop(&c->elo, rung_of_code(arm));
  else hak_ucb_drop(&c->ucb[what], arm);
  tell_change(c, HAK_CHANGE_DROPPED, what, arm, cost);
}

static bool is_settled(const struct hak_controller *c, unsigned what) {
  if (is_threshold(what)) return hak_elo_left(&c->elo) == 2 || c->tried[what] >= MATCHES;
  uint32_t left = arms_of(what) - (uint32_t)__builtin_popcount(c->ucb[what].dropped);
  return left == 1 || c->tried[what] >= PULLS * left;
}

/* The arm pulled most, if its mean cost is below the incumbent's by more than 1/SURELY; else the incumbent. */
static unsigned best_by_ucb(const struct hak_controller *c, unsigned what) {
  const struct hak_ucb *ucb = &c->ucb[what];
  unsigned best = c->arm[what];
  for (unsigned arm = 0; arm < arms_of(what); arm++)
    if ((ucb->dropped >> arm & 1) == 0 && ucb->pulls[arm] > ucb->pulls[best]) best = arm;
  uint64_t own = hak_ucb_mean(ucb, c->arm[what]), other = hak_ucb_mean(ucb, best);
  return other + own / SURELY < own ? best : c->arm[what];
}

static unsigned best_by_elo(const struct hak_controller *c) {
  uint32_t best = hak_elo_incumbent(&c->elo), own = rung_of_code(c->arm[HAK_TUNED_THRESHOLD]);
  bool surely = c->elo.rating[best] - c->elo.rating[own] >= POINTS * HAK_ELO_POINT;
  return surely ? code_of_rung(best) : c->arm[HAK_TUNED_THRESHOLD];
}

/* The cost that the arm's rating stands for [ns per slow call]. */
static uint64_t cost_by_elo(const struct hak_controller *c, unsigned arm) {
  uint32_t own = rung_of_code(c->arm[HAK_TUNED_THRESHOLD]);
  uint32_t share = hak_elo_expected(c->elo.rating[rung_of_code(arm)] - c->elo.rating[own]);
  return times(c->usual, HAK_ELO_ONE - share) / share;
}

static uint64_t cost_known(const struct hak_controller *c, unsigned what, unsigned arm) {
  if (is_threshold(what)) return cost_by_elo(c, arm);
  return times(c->usual, RANGE * hak_ucb_mean(&c->ucb[what], arm)) / HAK_UCB_RANGE;
}

/* ---- consequences of a cost ---- */

static bool holds(const struct hak_controller *c) { return memcmp(c->now, c->arm, sizeof c->now) == 0; }

static void measure(struct hak_controller *c, uint64_t cost) {
  c->measured += c->measured < AVERAGED;
  c->held = cost;
  if (cost >= c->usual) c->usual += (cost - c->usual) / c->measured;
  else c->usual -= (c->usual - cost) / c->measured;
}

static bool is_too_much(const struct hak_controller *c, uint64_t cost) {
  return cost >= TOO_MUCH * hak_max(hak_max(c->usual, c->held), 1);
}

static void settle(struct hak_controller *c, unsigned what) {
  unsigned best = is_threshold(what) ? best_by_elo(c) : best_by_ucb(c, what);
  c->settled |= (uint8_t)(1u << what);
  c->left = 0;
  if (best == c->arm[what]) return;
  c->candidate = (uint8_t)best;
  c->of = (uint8_t)what;
  c->waits = true;
  tell_change(c, HAK_CHANGE_CANDIDATE, what, best, cost_known(c, what, best));
}

/* Notes a window in which decision `what` was tried. */
static void note_try(struct hak_controller *c, unsigned what, bool after_change, uint64_t cost) {
  bool other = c->now[what] != c->arm[what];
  learn(c, what, cost);
  if (other && after_change && is_too_much(c, c->settled_at) && is_too_much(c, cost)) drop(c, what, cost);
  c->left--;
  if (is_settled(c, what)) settle(c, what);
}

static void forget_arm(struct hak_controller *c) {
  memset(&c->elo, 0, sizeof c->elo);
  memset(c->ucb, 0, sizeof c->ucb);
  memset(c->tried, 0, sizeof c->tried);
  c->elo.incumbent = (uint8_t)(rung_of_code(c->arm[HAK_TUNED_THRESHOLD]) ^ HAK_ELO_FIRST);
  c->measured = c->settled = c->frozen = c->left = 0;
  c->waits = c->tests = false;
}

static void end_candidate(struct hak_controller *c, bool promoted, uint64_t cost) {
  tell_change(c, promoted ? HAK_CHANGE_PROMOTED : HAK_CHANGE_ROLLED_BACK, c->of, c->candidate, cost);
  if (promoted) c->arm[c->of] = c->candidate;
  c->waits = c->tests = false;
}

static void heed(struct hak_controller *c, enum hak_life_news news, uint64_t cost) {
  bool tried = c->waits && news == HAK_LIFE_ALARM;
  if (news == HAK_LIFE_PROMOTED || news == HAK_LIFE_ROLLED_BACK) end_candidate(c, news == HAK_LIFE_PROMOTED, cost);
  if (tried) end_candidate(c, false, cost);
  if (news != HAK_LIFE_ALARM) return;
  tell_change(c, HAK_CHANGE_ALARM, HAK_TUNED, 0, cost);
  forget_arm(c);
}

static void live(struct hak_controller *c, uint64_t cost) {
  uint32_t scaled = (uint32_t)hak_min(cost >> COST_LOG, HAK_LIFE_MOST);
  heed(c, hak_life_note(&c->life, life_rules(), scaled, c->tests), cost);
}

/* ---- the next window ---- */

static bool may_try(const struct hak_controller *c, unsigned what) {
  return (c->last.tries >> what & 1) != 0 && c->last.asked[what] != 0;
}

/* Passes the turn to the next unsettled decision that may be tried; without such a decision the turn stays. */
static void pass_turn(struct hak_controller *c) {
  unsigned what = c->turn;
  for (unsigned n = 0; n < HAK_TUNED; n++) {
    what = (what + 1) % HAK_TUNED;
    if ((c->settled >> what & 1) == 0 && may_try(c, what)) break;
  }
  c->turn = (uint8_t)what;
  c->left = TURN;
}

static void freeze(struct hak_controller *c) {
  if (c->life.phase != HAK_LIFE_WATCH) return;
  for (unsigned what = 0; what < HAK_TUNED; what++) {
    if ((c->settled & ~c->frozen) >> what & 1) tell_change(c, HAK_CHANGE_FROZEN, what, c->arm[what], c->held);
  }
  c->frozen = c->settled;
}

/* Incumbents hold until the candidate's test begins and between the candidate's windows. */
static void test(struct hak_controller *c) {
  if (!c->life.trying) hak_life_offer(&c->life, life_rules());
  c->tests = hak_life_decide(&c->life, life_rules());
  if (c->tests) c->now[c->of] = c->candidate;
}

static void try_one(struct hak_controller *c) {
  if (c->left == 0) pass_turn(c);
  if ((c->settled >> c->turn & 1) == 0 && may_try(c, c->turn)) c->now[c->turn] = (uint8_t)choose(c, c->turn);
  else c->left = 0;
}

static void choose_all(struct hak_controller *c) {
  memcpy(c->now, c->arm, sizeof c->now);
  c->tests = false;
  if (c->waits) {
    test(c);
    return;
  }
  freeze(c);
  if (c->measured >= MEASURED) try_one(c);
}

static uint32_t packed(const struct hak_controller *c) {
  uint32_t arms = 0;
  for (unsigned what = 0; what < HAK_TUNED; what++)
    if (c->last.tries >> what & 1) arms |= (uint32_t)c->now[what] << 8 * what;
  return arms;
}

static void judge(struct hak_controller *c, bool after_change, uint64_t cost) {
  bool held = holds(c), tried = !c->tests && !c->waits && c->left != 0;
  unsigned turn = c->turn;
  if (held) measure(c, cost);
  if (tried) note_try(c, turn, after_change, cost);
  if (held || c->tests) live(c, cost);
}

uint32_t hak_controller_window(struct hak_controller *c, const struct hak_window *window) {
  uint64_t cost;
  bool sound = hak_window_cost(&c->last, window, &cost) && c->windows != 0;
  bool may_still = c->last.tries == window->tries;
  c->last = *window;
  c->windows++;
  if (!sound || !may_still) return packed(c);
  if (c->settling) {
    c->settling = false;
    c->settled_at = cost;
    return packed(c);
  }
  uint8_t before[HAK_TUNED];
  memcpy(before, c->now, sizeof before);
  judge(c, c->changed, cost);
  choose_all(c);
  c->settling = c->changed = memcmp(before, c->now, sizeof before) != 0;
  return packed(c);
}

void hak_controller_begin(struct hak_controller *c, struct hak_changes *ring) {
  uint8_t arm[HAK_TUNED];
  memcpy(arm, c->arm, sizeof arm);
  memset(c, 0, sizeof *c);
  memcpy(c->arm, arm, sizeof arm);
  memcpy(c->now, arm, sizeof arm);
  c->elo.incumbent = (uint8_t)(rung_of_code(arm[HAK_TUNED_THRESHOLD]) ^ HAK_ELO_FIRST);
  c->ring = ring;
}

/* ---- rows of a policy ---- */

void hak_controller_restore(struct hak_controller *c, unsigned what, unsigned arm) {
  uint32_t rung = rung_of_code(arm);
  hak_store(&c->arm[what], (uint8_t)arm);
  c->now[what] = (uint8_t)arm;
  if (is_threshold(what) && (c->elo.retired >> rung & 1) == 0) c->elo.incumbent = (uint8_t)(rung ^ HAK_ELO_FIRST);
}

void hak_controller_restore_pulls(struct hak_controller *c, unsigned what, uint32_t arm, uint64_t pulls, uint64_t cost,
                                  bool dropped) {
  hak_ucb_restore(&c->ucb[what], ucb_rules(what), arm, pulls, cost, dropped);
}
