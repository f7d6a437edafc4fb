/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policies.c: cost of keep-time policies for the gaps of a program; see policies.h.
 *
 * what      Sums over the gaps; a ladder is judged in a single pass for all arms.
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

/* INFINITY where memory costs nothing: keep for ever. */
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

static size_t bins_of(const struct hak_ladder *ladder)
{
  return (size_t)64 * ladder->bins;
}

/* ---- the gaps of each group ---- */

static uint32_t gaps_of(const struct hak_verdicts *v, size_t group)
{
  return v->first[group + 1] - v->first[group];
}

/* Counts the gaps and orders them by group; within a group the order stays. */
static bool sort_by_group(struct hak_verdicts *v)
{
  const struct hak_gaps *gaps = v->gaps;
  v->first = calloc((size_t)gaps->groups + 2, sizeof *v->first);
  v->gap = malloc((gaps->gaps + 1) * sizeof *v->gap);
  if (v->first == NULL || v->gap == NULL) return false;
  uint32_t *end = v->first + 1; /* end of each group's gaps after the second loop */
  for (size_t i = 0; i < gaps->gaps; i++) end[gaps->gap[i].group + 1]++;
  for (uint32_t group = 0; group < gaps->groups; group++) end[group + 1] += end[group];
  for (size_t i = 0; i < gaps->gaps; i++) v->gap[end[gaps->gap[i].group]++] = (uint32_t)i;
  return true;
}

/* ---- a row of each group ---- */

static bool is_few(const struct hak_verdicts *v, size_t group)
{
  return gaps_of(v, group) <= HAK_FEW_GAPS;
}

static struct hak_outcome *judge_group(const struct hak_verdicts *v, size_t group, struct hak_outcome *row)
{
  for (uint32_t i = v->first[group]; i < v->first[group + 1]; i++)
    judge(&v->gaps->gap[v->gap[i]], &v->tariff, v->arm, v->arms, row);
  return row;
}

/* Rows are kept only of groups with more than HAK_FEW_GAPS gaps, as a row is as long as the ladder. */
static bool keep_rows(struct hak_verdicts *v)
{
  uint32_t groups = v->gaps->groups, rows = 0;
  v->kept = calloc((size_t)groups + 1, sizeof *v->kept);
  if (v->kept == NULL) return false;
  for (uint32_t group = 0; group < groups; group++)
    if (!is_few(v, group)) v->kept[group] = rows++;
  v->outcome[HAK_FOR_SITE] = calloc(rows * v->arms + 1, sizeof *v->outcome[HAK_FOR_SITE]);
  if (v->outcome[HAK_FOR_SITE] == NULL) return false;
  for (uint32_t group = 0; group < groups; group++)
    if (!is_few(v, group)) judge_group(v, group, &v->outcome[HAK_FOR_SITE][v->kept[group] * v->arms]);
  return true;
}

/* The row of a group with few gaps lies in v->room until the next call. */
static const struct hak_outcome *row_of_group(const struct hak_verdicts *v, size_t group)
{
  if (!is_few(v, group)) return &v->outcome[HAK_FOR_SITE][v->kept[group] * v->arms];
  memset(v->room, 0, v->arms * sizeof *v->room);
  return judge_group(v, group, v->room);
}

/* ---- busy groups ---- */

static bool is_busy(const struct hak_verdicts *v, size_t group)
{
  return gaps_of(v, group) >= v->many;
}

/* Number of gaps of the groups that are not busy, by bin. */
static uint64_t *count_rest(const struct hak_verdicts *v, size_t bins)
{
  uint64_t *count = calloc(bins, sizeof *count);
  for (uint32_t group = 0; count != NULL && group < v->gaps->groups; group++)
    if (!is_busy(v, group)) count[v->gaps->group[group].bin] += gaps_of(v, group);
  return count;
}

/* ---- rows ---- */

/* NULL: a group without a row. FOR_BUSY: row 0 has all remaining gaps, then one row for the rest of each bin, then one
 * row for each group. */
static const struct hak_outcome *row_of(const struct hak_verdicts *v, enum hak_scope scope, size_t row)
{
  size_t rests = scope == HAK_FOR_BUSY ? v->rows[scope] - v->gaps->groups : 0;
  if (scope != HAK_FOR_SITE && (scope != HAK_FOR_BUSY || row < rests)) return &v->outcome[scope][row * v->arms];
  size_t group = row - rests;
  bool own = gaps_of(v, group) != 0 && (scope == HAK_FOR_SITE || is_busy(v, group));
  return own ? row_of_group(v, group) : NULL;
}

static void add_row(struct hak_outcome *sum, const struct hak_outcome *row, size_t arms)
{
  for (size_t i = 0; i < arms; i++) add(&sum[i], &row[i]);
}

/* Makes the rows of the wider scopes, sums over groups. */
static bool sum_up(struct hak_verdicts *v)
{
  uint64_t *rest = count_rest(v, v->rows[HAK_FOR_BIN]);
  if (rest == NULL) return false;
  for (uint32_t group = 0; group < v->gaps->groups; group++) {
    uint32_t bin = v->gaps->group[group].bin, busy = rest[bin] >= v->many ? 1 + bin : 0;
    const struct hak_outcome *row = row_of_group(v, group);
    if (is_busy(v, group)) v->busy += gaps_of(v, group);
    else add_row(&v->outcome[HAK_FOR_BUSY][busy * v->arms], row, v->arms);
    add_row(&v->outcome[HAK_FOR_BIN][bin * v->arms], row, v->arms);
    add_row(v->outcome[HAK_FOR_ALL], row, v->arms);
  }
  free(rest);
  return true;
}

static bool make_room(struct hak_verdicts *v, const struct hak_ladder *ladder)
{
  size_t bins = bins_of(ladder), rows[HAK_FOR_SITE] = {1, bins, 1 + bins};
  v->arm = malloc((v->arms + 1) * sizeof *v->arm);
  v->room = calloc(v->arms + 1, sizeof *v->room);
  bool made = v->arm != NULL && v->room != NULL;
  for (int scope = 0; made && scope < HAK_FOR_SITE; scope++)
    made = (v->outcome[scope] = calloc(rows[scope] * v->arms + 1, sizeof *v->outcome[scope])) != NULL;
  if (made) memcpy(v->arm, ladder->arm, v->arms * sizeof *v->arm);
  return made;
}

bool hak_verdicts_make(const struct hak_gaps *gaps, const struct hak_tariff *tariff, const struct hak_ladder *ladder,
                       struct hak_verdicts *out)
{
  size_t bins = bins_of(ladder);
  *out = (struct hak_verdicts){.gaps = gaps, .tariff = *tariff, .arms = ladder->arms, .many = ladder->many,
                               .rows = {1, bins, 1 + bins + gaps->groups, gaps->groups}};
  bool made = make_room(out, ladder) && sort_by_group(out) && keep_rows(out) && sum_up(out);
  if (!made) hak_verdicts_drop(out);
  return made;
}

void hak_verdicts_drop(struct hak_verdicts *verdicts)
{
  for (int scope = 0; scope < HAK_SCOPES; scope++) free(verdicts->outcome[scope]);
  free(verdicts->arm);
  free(verdicts->room);
  free(verdicts->first);
  free(verdicts->gap);
  free(verdicts->kept);
  memset(verdicts, 0, sizeof *verdicts);
}

static size_t cheapest(const struct hak_outcome *arm, size_t arms, const struct hak_tariff *tariff)
{
  size_t best = 0;
  for (size_t i = 1; i < arms; i++)
    if (hak_cost(tariff, &arm[i]) < hak_cost(tariff, &arm[best])) best = i;
  return best;
}

static struct hak_tariff weighed(const struct hak_tariff *tariff, double weight)
{
  struct hak_tariff weighed = *tariff;
  weighed.price *= weight;
  return weighed;
}

size_t hak_best_arm(const struct hak_verdicts *verdicts, const struct hak_tariff *tariff, double weight)
{
  struct hak_tariff by = weighed(tariff, weight);
  return cheapest(verdicts->outcome[HAK_FOR_ALL], verdicts->arms, &by);
}

struct hak_outcome hak_best(const struct hak_verdicts *verdicts, const struct hak_tariff *tariff, enum hak_scope scope,
                            double weight)
{
  struct hak_outcome sum = {0};
  struct hak_tariff by = weighed(tariff, weight);
  for (size_t i = 0; i < verdicts->rows[scope]; i++) {
    const struct hak_outcome *row = row_of(verdicts, scope, i);
    if (row != NULL) add(&sum, &row[cheapest(row, verdicts->arms, &by)]);
  }
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

/* Two neighbours on the frontier: `more` keeps more memory and fetches less. */
struct bracket {
  struct hak_outcome more, less;
};

enum { weight_log = 40, steps = 40 };

/* The higher the price of memory, the less is kept: keeps_enough, of a policy beside `base`, is true up to some
 * weight. */
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

/* y at x on the line through both points; the nearer end for x outside. */
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
