/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rows.c: rows of the learners in a policy.
 *
 * what      The table; see rows.h. Kinds and capacities may change while a file is written, as not all of their changes
 *           wait for the claim: so which rows of the file were replaced is known from the rows written.
 * owner     g_rows.
 */
#include "learn/rows.h"

#include "base/atomic.h"
#include "learn/ace.h"
#include "learn/caches.h"
#include "learn/extra_class.h"
#include "learn/kinds.h"
#include "learn/learner.h"
#include "learn/stack.h"
#include "learn/tune_rows.h"
#include "reclaim/release.h"
#include "tables/settings.h"

#define ARM {0, HAK_ARMS - 1}
#define WEIGHT {1, HAK_LEADER_WEIGHT_MOST}
#define PAID {0, HAK_LEADER_PAID_MOST}
static const struct hak_row_bound level_bounds[] = {{0, HAK_KINDS_MIB_MOST}, ARM, WEIGHT, PAID, PAID, PAID, PAID,
                                             PAID, PAID, PAID, PAID};
static const struct hak_row_bound class_bounds[] = {{16, HAK_SLAB_MAX}, {1, HAK_EXTRA_WEIGHT_MOST}};
#define SUM {0, HAK_ACE_SUM_MOST}
#define SUMS SUM, SUM, SUM, SUM
static const struct hak_row_bound capacity_bounds[] = {
    {16, HAK_SLAB_MAX},
    {HAK_CACHES_LEAST_LOG, HAK_CACHES_LEAST_LOG + HAK_CACHES_RUNGS - 1},
    {HAK_CACHES_LEAST_LOG + 10, HAK_CACHES_LEAST_LOG + 10 + HAK_CACHES_RUNGS - 1},
    {0, HAK_CACHES_EIGHTHS},
    {1, HAK_CACHES_WINDOWS},
    SUMS, SUMS,
};
static const struct hak_row_bound threshold_bounds[] = {{0, HAK_ARM_THRESHOLDS}, {0, HAK_TUNE_TRIED_MOST}};
static const struct hak_row_bound slack_bounds[] = {{0, HAK_ARM_SLACKS}, {0, HAK_TUNE_TRIED_MOST}};
static const struct hak_row_bound place_bounds[] = {{0, 1}, {0, HAK_TUNE_TRIED_MOST}};
static const struct hak_row_bound rating_bounds[] = {
    {0, HAK_ARM_THRESHOLDS - 1}, {0, HAK_TUNE_RATING_MOST}, {0, HAK_TUNE_TRIED_MOST}, {0, 1}};
#define PULLS {0, HAK_TUNE_TRIED_MOST}, {0, HAK_TUNE_COST_MOST}, {0, 1}
static const struct hak_row_bound slack_pulls_bounds[] = {{0, HAK_ARM_SLACKS}, PULLS};
static const struct hak_row_bound place_pulls_bounds[] = {{0, 1}, PULLS};

#define OF(name) offsetof(struct hak_settings, name)
#define SIZE(bounds) (sizeof(bounds) / sizeof *(bounds))
#define ROWS(word, setting, which, places, bounds, module) \
  {word, OF(setting), which, places, SIZE(bounds), bounds, hak_##module##_out, hak_##module##_in}
#define KIND(word, which) \
  {word, OF(learn_kinds), which, 1, SIZE(level_bounds) - 1, level_bounds + 1, hak_kinds_out, hak_kinds_in}

/* The row of a kind comes before the rows that inherit from it, a class before the class's capacity. */
static const struct hak_row_kind row_kinds[] = {
    KIND("kind runs", HAK_KIND_RUNS),
    KIND("kind slabs", HAK_KIND_SLABS),
    ROWS("level runs", learn_kinds, HAK_KIND_RUNS, HAK_STACK_QUANTA, level_bounds, kinds_level),
    ROWS("level slabs", learn_kinds, HAK_KIND_SLABS, HAK_STACK_QUANTA, level_bounds, kinds_level),
    ROWS("class", learn_class, 0, HAK_EXTRA_CLASSES, class_bounds, extra_class),
    ROWS("capacity", learn_caches, 0, HAK_RUN_CLASS, capacity_bounds, caches),
    ROWS("arm threshold", learn_threshold, HAK_TUNED_THRESHOLD, 1, threshold_bounds, tune_arm),
    ROWS("arm slack", learn_slack, HAK_TUNED_SLACK, 1, slack_bounds, tune_arm),
    ROWS("arm place", learn_place, HAK_TUNED_PLACE, 1, place_bounds, tune_arm),
    ROWS("rating", learn_threshold, HAK_TUNED_THRESHOLD, HAK_ELO_ARMS, rating_bounds, tune_rating),
    ROWS("pulls slack", learn_slack, HAK_TUNED_SLACK, HAK_UCB_ARMS, slack_pulls_bounds, tune_pulls),
    ROWS("pulls place", learn_place, HAK_TUNED_PLACE, 2, place_pulls_bounds, tune_pulls),
};
static_assert(SIZE(capacity_bounds) == HAK_ROW_NUMBERS, "rows.h");

enum {
  ROWS_MOST = 2 + 2 * HAK_STACK_QUANTA + HAK_EXTRA_CLASSES + HAK_RUN_CLASS + 3 + HAK_ELO_ARMS + HAK_UCB_ARMS + 2,
  NAME_BITS = 26
};
static_assert(HAK_KINDS_MIB_MOST < 1 << NAME_BITS && SIZE(row_kinds) < 1 << (32 - NAME_BITS), "row_name");

static HAK_RARE struct {
  uint32_t counts; /* bit: kind; 0: the claim is not held */
  uint32_t rows;
  uint32_t row[ROWS_MOST]; /* written: kind and name */
} g_rows;

const struct hak_row_kind *hak_row_kind(unsigned n) { return n < SIZE(row_kinds) ? &row_kinds[n] : NULL; }

static bool is_on(const struct hak_row_kind *kind) {
  return hak_load((const uint64_t *)((uintptr_t)&g_settings + kind->setting)) != 0;
}

static bool row_counts(const struct hak_row_kind *kind) {
  uint64_t mode = hak_setting(mode);
  bool learns = mode == HAK_MODE_SHADOW || mode == HAK_MODE_EVOLVING;
  return mode == HAK_MODE_FROZEN || (learns && is_on(kind));
}

static unsigned index_of_kind(const struct hak_row_kind *kind) { return (unsigned)(kind - row_kinds); }

static bool is_held(const struct hak_row_kind *kind) { return (g_rows.counts >> index_of_kind(kind) & 1) != 0; }

/* ---- a read or a write ---- */

static uint32_t kinds_that_count(void) {
  uint32_t kinds = 0;
  for (unsigned n = 0; n < SIZE(row_kinds); n++) kinds |= (uint32_t)row_counts(&row_kinds[n]) << n;
  return kinds;
}

/* A learner's window, or a release, that a signal handler interrupted does not end before the process does: the wait
 * is once, not for each row. */
static bool hold_rows(void) {
  if (!hak_learner_hold()) return false;
  bool free = hak_release_hold();
  if (free) hak_release_let_go();
  else hak_learner_let_go();
  return free;
}

/* Touches no page in a process whose learners are off. */
void hak_rows_begin(void) {
  uint32_t kinds = kinds_that_count();
  if ((kinds | g_rows.counts) == 0) return;
  g_rows.rows = 0;
  g_rows.counts = kinds != 0 && hold_rows() ? kinds : 0; /* before: of a write that a fork cut */
}

void hak_rows_end(void) {
  if (g_rows.counts == 0) return;
  g_rows.rows = g_rows.counts = 0;
  hak_learner_let_go();
}

uint32_t hak_rows_counting(void) { return g_rows.counts; }

void hak_rows_are_in_file(void) {
  for (unsigned n = 0; n < SIZE(row_kinds); n++) {
    if (is_held(&row_kinds[n]) && row_kinds[n].out == hak_tune_arm_out) hak_tune_written(row_kinds[n].which);
  }
}

/* ---- rows ---- */

static uint32_t row_name(const struct hak_row_kind *kind, const uint64_t *number) {
  return index_of_kind(kind) << NAME_BITS | (kind->places != 1 ? (uint32_t)number[0] : 0);
}

static bool was_written(uint32_t name) {
  for (uint32_t i = 0; i < g_rows.rows; i++) {
    if (g_rows.row[i] == name) return true;
  }
  return false;
}

bool hak_row_out(const struct hak_row_kind *kind, unsigned place, uint64_t *number) {
  if (!is_held(kind) || g_rows.rows == ROWS_MOST || !kind->out(kind->which, place, number)) return false;
  g_rows.row[g_rows.rows++] = row_name(kind, number);
  return true;
}

bool hak_row_in(const struct hak_row_kind *kind, const uint64_t *number, enum hak_row_use use) {
  return is_held(kind) && (kind->in(kind->which, number, use) || was_written(row_name(kind, number)));
}

static bool has_row(const struct hak_row_kind *kind) {
  uint64_t number[HAK_ROW_NUMBERS];
  for (unsigned place = 0; is_held(kind) && place < kind->places; place++) {
    if (kind->out(kind->which, place, number)) return true;
  }
  return false;
}

bool hak_row_any(void) {
  for (unsigned n = 0; n < SIZE(row_kinds); n++) {
    if (has_row(&row_kinds[n])) return true;
  }
  return false;
}
