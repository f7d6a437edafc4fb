/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policies.c: what keep-time policies would have paid for the gaps of a program; see policies.h.
 *
 * what      Sums over the row of gaps; a ladder is judged in one pass for all its arms.
 */
#include "policies.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double mib_of(uint32_t pages)
{
  return pages * ((double)HAK_PAGE / (1 << 20));
}

static double fetching(const struct hak_tariff *tariff, uint32_t pages)
{
  return tariff->call_ns + pages * tariff->page_ns;
}

/* Where memory costs nothing it is kept for ever. */
double hak_break_even_ns(const struct hak_tariff *tariff, uint32_t pages)
{
  return tariff->price > 0 ? fetching(tariff, pages) * 1e9 / (tariff->price * mib_of(pages)) : INFINITY;
}

static double keep_ns(struct hak_arm arm, double break_even)
{
  return arm.absolute || arm.keep == 0 ? arm.keep : arm.keep * break_even;
}

static void keep(struct hak_outcome *outcome, const struct hak_gap *gap)
{
  outcome->idle += mib_of(gap->pages) * (double)gap->ns * 1e-9;
  outcome->hits += !gap->open;
}

static void drop(struct hak_outcome *outcome, const struct hak_gap *gap, double after_ns, double fetch_ns)
{
  outcome->idle += mib_of(gap->pages) * after_ns * 1e-9;
  outcome->fetch_ns += fetch_ns;
  outcome->drops++;
  outcome->fetches += !gap->open;
  outcome->pages += gap->open ? 0 : gap->pages;
}

static void charge_until(struct hak_outcome *outcome, const struct hak_gap *gap, double until_ns, double fetch_ns)
{
  if ((double)gap->ns <= until_ns) {
    keep(outcome, gap);
  } else {
    drop(outcome, gap, until_ns, fetch_ns);
  }
}

void hak_charge(struct hak_outcome *outcome, const struct hak_gap *gap, const struct hak_tariff *tariff,
                struct hak_arm arm)
{
  double break_even = hak_break_even_ns(tariff, gap->pages);
  charge_until(outcome, gap, keep_ns(arm, break_even), fetching(tariff, gap->pages));
}

double hak_clairvoyant_cost(const struct hak_gap *gap, const struct hak_tariff *tariff)
{
  return fmin(tariff->price * mib_of(gap->pages) * (double)gap->ns * 1e-9, fetching(tariff, gap->pages));
}

struct hak_outcome hak_keep_for(const struct hak_gaps *gaps, const struct hak_tariff *tariff, struct hak_arm arm)
{
  struct hak_outcome outcome = {0};
  for (size_t i = 0; i < gaps->gaps; i++) hak_charge(&outcome, &gaps->gap[i], tariff, arm);
  return outcome;
}

struct hak_outcome hak_clairvoyant(const struct hak_gaps *gaps, const struct hak_tariff *tariff, double weight)
{
  struct hak_outcome outcome = {0};
  for (size_t i = 0; i < gaps->gaps; i++) {
    const struct hak_gap *gap = &gaps->gap[i];
    bool worth_it = (double)gap->ns * weight <= hak_break_even_ns(tariff, gap->pages);
    charge_until(&outcome, gap, worth_it ? INFINITY : 0, fetching(tariff, gap->pages));
  }
  return outcome;
}

/* ---- ladders ---- */

static void judge(const struct hak_gap *gap, const struct hak_tariff *tariff, const struct hak_arm *arm, size_t arms,
                  struct hak_outcome *row)
{
  double fetch_ns = fetching(tariff, gap->pages), break_even = hak_break_even_ns(tariff, gap->pages);
  for (size_t i = 0; i < arms; i++) charge_until(&row[i], gap, keep_ns(arm[i], break_even), fetch_ns);
}

static void add(struct hak_outcome *sum, const struct hak_outcome *one)
{
  sum->idle += one->idle;
  sum->fetch_ns += one->fetch_ns;
  sum->hits += one->hits;
  sum->drops += one->drops;
  sum->fetches += one->fetches;
  sum->pages += one->pages;
}

static struct hak_outcome *row_of(const struct hak_verdicts *v, enum hak_scope scope, size_t row)
{
  return &v->outcome[scope][row * v->arms];
}

/* ---- who is busy ---- */

/* Row 0 is for all the rest, then one for the rest of each bin, then one for each group. */
static size_t busy_row(const struct hak_ladder *ladder, const struct hak_gaps *gaps, uint32_t group,
                       const uint64_t *count)
{
  uint32_t bin = gaps->group[group].bin;
  const uint64_t *of_group = count + 1 + (size_t)64 * ladder->bins;
  if (of_group[group] >= ladder->many) return 1 + (size_t)64 * ladder->bins + group;
  return count[1 + bin] >= ladder->many ? 1 + bin : 0;
}

/* By row as above: of the groups all gaps, of bins those of the groups that are not busy. */
static uint64_t *count_gaps(const struct hak_ladder *ladder, const struct hak_gaps *gaps)
{
  size_t first = 1 + (size_t)64 * ladder->bins;
  uint64_t *count = calloc(first + gaps->groups, sizeof *count);
  if (count == NULL) return NULL;
  for (size_t i = 0; i < gaps->gaps; i++) count[first + gaps->gap[i].group]++;
  for (uint32_t group = 0; group < gaps->groups; group++)
    if (count[first + group] < ladder->many) count[1 + gaps->group[group].bin] += count[first + group];
  return count;
}

/* ---- rows ---- */

static void add_row(struct hak_outcome *sum, const struct hak_outcome *row, size_t arms)
{
  for (size_t i = 0; i < arms; i++) add(&sum[i], &row[i]);
}

/* All others are the sums of their groups. */
static bool sum_up(struct hak_verdicts *v, const struct hak_ladder *ladder, const struct hak_gaps *gaps)
{
  uint64_t *count = count_gaps(ladder, gaps);
  if (count == NULL) return false;
  for (uint32_t group = 0; group < gaps->groups; group++) {
    const struct hak_outcome *row = row_of(v, HAK_FOR_SITE, group);
    size_t busy = busy_row(ladder, gaps, group, count), first = 1 + (size_t)64 * ladder->bins;
    add_row(row_of(v, HAK_FOR_BUSY, busy), row, v->arms);
    if (busy >= first) v->busy += count[first + group];
    add_row(row_of(v, HAK_FOR_BIN, gaps->group[group].bin), row, v->arms);
    add_row(row_of(v, HAK_FOR_ALL, 0), row, v->arms);
  }
  free(count);
  return true;
}

static bool make_rows(struct hak_verdicts *v)
{
  for (int scope = 0; scope < HAK_SCOPES; scope++) {
    v->outcome[scope] = calloc(v->rows[scope] * v->arms + 1, sizeof *v->outcome[scope]);
    if (v->outcome[scope] == NULL) return false;
  }
  return true;
}

bool hak_verdicts_make(const struct hak_gaps *gaps, const struct hak_tariff *tariff, const struct hak_ladder *ladder,
                       struct hak_verdicts *out)
{
  size_t bins = (size_t)64 * ladder->bins;
  *out = (struct hak_verdicts){.arms = ladder->arms, .rows = {1, bins, 1 + bins + gaps->groups, gaps->groups}};
  bool made = make_rows(out);
  for (size_t i = 0; made && i < gaps->gaps; i++)
    judge(&gaps->gap[i], tariff, ladder->arm, ladder->arms, row_of(out, HAK_FOR_SITE, gaps->gap[i].group));
  made = made && sum_up(out, ladder, gaps);
  if (!made) hak_verdicts_drop(out);
  return made;
}

void hak_verdicts_drop(struct hak_verdicts *verdicts)
{
  for (int scope = 0; scope < HAK_SCOPES; scope++) free(verdicts->outcome[scope]);
  memset(verdicts, 0, sizeof *verdicts);
}

size_t hak_best_arm(const struct hak_verdicts *verdicts, const struct hak_tariff *tariff, enum hak_scope scope,
                    size_t row, double weight)
{
  const struct hak_outcome *arm = row_of(verdicts, scope, row);
  struct hak_tariff weighed = *tariff;
  weighed.price *= weight;
  size_t best = 0;
  for (size_t i = 1; i < verdicts->arms; i++)
    if (hak_cost(&weighed, &arm[i]) < hak_cost(&weighed, &arm[best])) best = i;
  return best;
}

struct hak_outcome hak_best(const struct hak_verdicts *verdicts, const struct hak_tariff *tariff, enum hak_scope scope,
                            double weight)
{
  struct hak_outcome sum = {0};
  for (size_t row = 0; row < verdicts->rows[scope]; row++)
    add(&sum, &row_of(verdicts, scope, row)[hak_best_arm(verdicts, tariff, scope, row, weight)]);
  return sum;
}

/* ---- headroom ---- */

struct hak_outcome hak_policy_at(const struct hak_policy *policy, double weight)
{
  switch (policy->kind) {
    case HAK_CLAIRVOYANT: return hak_clairvoyant(policy->gaps, policy->tariff, weight);
    case HAK_BASELINE: return hak_keep_for(policy->gaps, policy->tariff, (struct hak_arm){.keep = 1 / weight});
    case HAK_BEST_FOR_ALL: return hak_best(policy->verdicts, policy->tariff, HAK_FOR_ALL, weight);
    case HAK_BEST_BY_BIN: return hak_best(policy->verdicts, policy->tariff, HAK_FOR_BIN, weight);
    case HAK_BEST_BY_BUSY: return hak_best(policy->verdicts, policy->tariff, HAK_FOR_BUSY, weight);
    default: return hak_best(policy->verdicts, policy->tariff, HAK_FOR_SITE, weight);
  }
}

/* Two neighbours on the frontier: `more` keeps more and fetches less. */
struct bracket {
  struct hak_outcome more, less;
};

enum { weight_log = 40, steps = 40 };

/* The dearer memory is, the less is kept. `keeps_enough`: of a policy beside `base`, true up to some weight. */
static struct bracket bracket(const struct hak_policy *policy, const struct hak_outcome *base,
                              bool (*keeps_enough)(const struct hak_outcome *, const struct hak_outcome *))
{
  double low = -weight_log, high = weight_log;
  struct bracket found = {hak_policy_at(policy, exp2(low)), hak_policy_at(policy, exp2(high))};
  for (int step = 0; step < steps; step++) {
    double middle = (low + high) / 2;
    struct hak_outcome there = hak_policy_at(policy, exp2(middle));
    if (keeps_enough(&there, base)) {
      low = middle;
      found.more = there;
    } else {
      high = middle;
      found.less = there;
    }
  }
  return found;
}

/* y at x on the line through both; at the nearer end where x lies outside. */
static double between(double x, double x0, double y0, double x1, double y1)
{
  double share = x0 == x1 ? 0 : (x - x0) / (x1 - x0);
  return y0 + (y1 - y0) * fmin(fmax(share, 0), 1);
}

static bool fetches_no_more(const struct hak_outcome *one, const struct hak_outcome *base)
{
  return one->fetch_ns <= base->fetch_ns;
}

double hak_idle_at_equal_fetching(const struct hak_policy *policy, const struct hak_outcome *base)
{
  struct bracket b = bracket(policy, base, fetches_no_more);
  return between(base->fetch_ns, b.more.fetch_ns, b.more.idle, b.less.fetch_ns, b.less.idle);
}

static bool keeps_as_much(const struct hak_outcome *one, const struct hak_outcome *base)
{
  return one->idle >= base->idle;
}

double hak_fetching_at_equal_idle(const struct hak_policy *policy, const struct hak_outcome *base)
{
  struct bracket b = bracket(policy, base, keeps_as_much);
  return between(base->idle, b.more.idle, b.more.fetch_ns, b.less.idle, b.less.fetch_ns);
}
