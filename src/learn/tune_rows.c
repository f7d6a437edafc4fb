/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tune_rows.c: what was learnt for the whole process, as rows of a policy.
 *
 * what      See tune_rows.h.
 * owner     g_file.
 */
#include "learn/tune_rows.h"

#include <string.h>

#include "base/bits.h"
#include "learn/tune.h"

enum { BY_PULLS = HAK_TUNED - 1, PULL_SHIFT = 16, MIDDLE = HAK_ELO_START * HAK_ELO_POINT };
static_assert(HAK_TUNED_THRESHOLD == 0, "of_pulls");

static HAK_RARE struct {
  uint64_t cost[BY_PULLS][HAK_UCB_ARMS];
  uint32_t pulls[BY_PULLS][HAK_UCB_ARMS];
  uint32_t tried[HAK_TUNED], played[HAK_ELO_ARMS];
  int32_t rating[HAK_ELO_ARMS];
} g_file;

/* True if the decision was tried in this process, or its rows were read. */
static bool is_tuned(const struct hak_controller *c, unsigned what) {
  return (c->last.tries >> what & 1) != 0 || c->arm[what] != 0 || c->tried[what] != 0;
}

/* This process's count, and what the file has more than then. */
static uint32_t more_of(uint64_t own, uint64_t file, uint64_t then) {
  return (uint32_t)hak_min(own + hak_less(file, then), HAK_TUNE_TRIED_MOST);
}

static bool may(unsigned what) { return (hak_tune_may() >> what & 1) != 0; }

/* ---- arms ---- */

bool hak_tune_arm_out(unsigned what, unsigned place, uint64_t *number) {
  const struct hak_controller *c = hak_tune_controller(false);
  (void)place;
  number[0] = c->arm[what];
  number[1] = hak_min(c->tried[what], HAK_TUNE_TRIED_MOST);
  return is_tuned(c, what);
}

bool hak_tune_arm_in(unsigned what, const uint64_t *number, enum hak_row_use use) {
  struct hak_controller *c = hak_tune_controller(use == HAK_ROW_TAKE);
  uint32_t tried = (uint32_t)number[1], own = c->tried[what];
  bool tuned = is_tuned(c, what), takes = use == HAK_ROW_TAKE && may(what), joins = use == HAK_ROW_JOIN && tuned;
  if (takes || (joins && tried > own)) hak_controller_restore(c, what, (unsigned)number[0]);
  if (takes) c->tried[what] = tried;
  if (joins) c->tried[what] = more_of(own, tried, g_file.tried[what]);
  if (!takes && !joins) return tuned;
  g_file.tried[what] = tried;
  hak_tune_publish();
  return tuned;
}

/* ---- ratings ---- */

static int32_t bounded(int64_t rating) {
  return rating > MIDDLE ? MIDDLE : rating < -MIDDLE ? -MIDDLE : (int32_t)rating;
}

bool hak_tune_rating_out(unsigned what, unsigned rung, uint64_t *number) {
  const struct hak_controller *c = hak_tune_controller(false);
  number[0] = rung;
  number[1] = (uint64_t)(bounded(c->elo.rating[rung]) + MIDDLE);
  number[2] = hak_min(c->elo.played[rung], HAK_TUNE_TRIED_MOST);
  number[3] = c->elo.retired >> rung & 1;
  return is_tuned(c, what) && (c->elo.rating[rung] != 0 || (number[2] | number[3]) != 0);
}

bool hak_tune_rating_in(unsigned what, const uint64_t *number, enum hak_row_use use) {
  struct hak_controller *c = hak_tune_controller(use == HAK_ROW_TAKE);
  uint32_t rung = (uint32_t)number[0], played = (uint32_t)number[2];
  int32_t rating = (int32_t)number[1] - MIDDLE;
  bool tuned = is_tuned(c, what), takes = use == HAK_ROW_TAKE && may(what), joins = use == HAK_ROW_JOIN && tuned;
  int32_t both = bounded((int64_t)c->elo.rating[rung] + rating - g_file.rating[rung]);
  uint32_t matches = more_of(c->elo.played[rung], played, g_file.played[rung]);
  if (!takes && !joins) return tuned;
  hak_elo_restore(&c->elo, rung, takes ? rating : both, takes ? played : matches, number[3] != 0);
  g_file.rating[rung] = rating;
  g_file.played[rung] = played;
  return tuned;
}

/* ---- pulls ---- */

static unsigned of_pulls(unsigned what) { return what - 1; }

bool hak_tune_pulls_out(unsigned what, unsigned arm, uint64_t *number) {
  const struct hak_controller *c = hak_tune_controller(false);
  const struct hak_ucb *ucb = &c->ucb[what];
  number[0] = arm;
  number[1] = hak_min(ucb->pulls[arm] >> PULL_SHIFT, HAK_TUNE_TRIED_MOST);
  number[2] = hak_min(ucb->cost[arm], HAK_TUNE_COST_MOST);
  number[3] = ucb->dropped >> arm & 1;
  return is_tuned(c, what) && (number[1] | number[3]) != 0;
}

bool hak_tune_pulls_in(unsigned what, const uint64_t *number, enum hak_row_use use) {
  struct hak_controller *c = hak_tune_controller(use == HAK_ROW_TAKE);
  struct hak_ucb *ucb = &c->ucb[what];
  uint32_t arm = (uint32_t)number[0], *then = &g_file.pulls[of_pulls(what)][arm];
  uint64_t *cost_then = &g_file.cost[of_pulls(what)][arm];
  bool tuned = is_tuned(c, what), takes = use == HAK_ROW_TAKE && may(what), joins = use == HAK_ROW_JOIN && tuned;
  uint64_t pulls = more_of(ucb->pulls[arm] >> PULL_SHIFT, number[1], *then);
  uint64_t cost = hak_min(ucb->cost[arm] + hak_less(number[2], *cost_then), HAK_TUNE_COST_MOST);
  if (!takes && !joins) return tuned;
  hak_controller_restore_pulls(c, what, arm, takes ? number[1] : pulls, takes ? number[2] : cost, number[3] != 0);
  *then = (uint32_t)number[1];
  *cost_then = number[2];
  return tuned;
}

/* ---- the file ---- */

static void note_pulls(const struct hak_ucb *ucb, unsigned n) {
  for (unsigned arm = 0; arm < HAK_UCB_ARMS; arm++) {
    g_file.pulls[n][arm] = (uint32_t)hak_min(ucb->pulls[arm] >> PULL_SHIFT, HAK_TUNE_TRIED_MOST);
    g_file.cost[n][arm] = hak_min(ucb->cost[arm], HAK_TUNE_COST_MOST);
  }
}

static void note_ratings(const struct hak_elo *elo) {
  for (unsigned rung = 0; rung < HAK_ELO_ARMS; rung++) {
    g_file.rating[rung] = bounded(elo->rating[rung]);
    g_file.played[rung] = (uint32_t)hak_min(elo->played[rung], HAK_TUNE_TRIED_MOST);
  }
}

/* A process that tunes nothing does not touch g_file's page. */
void hak_tune_written(unsigned what) {
  const struct hak_controller *c = hak_tune_controller(false);
  if (!is_tuned(c, what)) return;
  g_file.tried[what] = (uint32_t)hak_min(c->tried[what], HAK_TUNE_TRIED_MOST);
  if (what == HAK_TUNED_THRESHOLD) note_ratings(&c->elo);
  else note_pulls(&c->ucb[what], of_pulls(what));
}

void hak_tune_forget_file(void) { memset(&g_file, 0, sizeof g_file); }
