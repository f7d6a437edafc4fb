/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policies.h: cost of keep-time policies for the gaps of a program.
 *
 * what      A policy has a keep time T for each gap. A block requested again within T has paid rent only; any other
 *           block has paid rent for T, is dropped, and fetched again. Rent: price x bytes x time; fetching: a call and
 *           its pages. The break-even T of a size is the time whose rent equals the cost of fetching.
 *
 *            clairvoyant   knows the gap: the smaller of rent and fetching
 *            baseline      T = break-even; never more than twice the clairvoyant (ski rental: Karlin, Manasse,
 *                          Rudolph and Sleator, 1988)
 *            best          the T of a ladder that is best in hindsight: for all gaps, per bin, or per site and
 *                          bin
 *
 *           Frontier: the same policies with rent weighed by `weight` show every trade of memory against fetching. A
 *           mixture of two points pays on the line between the points.
 * owner     The caller, until hak_verdicts_drop.
 * failure   Out of memory: false.
 * not here  Gaps: gaps.h. First fetches, which no policy can save.
 */
#ifndef HAK_TOOLS_POLICIES_H
#define HAK_TOOLS_POLICIES_H

#include "gaps.h"

struct hak_tariff {
  double price; /* [ns per MiB and second] */
  double call_ns, page_ns;
};

struct hak_arm {
  bool absolute;
  double keep; /* [ns] if absolute, else a multiple of the break-even time */
};

struct hak_outcome {
  double idle;     /* [MiB x s] of kept free memory */
  double fetch_ns; /* for all dropped blocks, requested again or not */
  uint64_t hits, drops, fetches, pages; /* fetches: dropped and requested again; pages: of these */
};

static inline double hak_cost(const struct hak_tariff *tariff, const struct hak_outcome *outcome)
{
  return tariff->price * outcome->idle + outcome->fetch_ns;
}

/* INFINITY where memory costs nothing. */
double hak_break_even_ns(const struct hak_tariff *tariff, uint32_t pages);

/* Cost of one gap. */
void hak_charge(struct hak_outcome *outcome, const struct hak_gap *gap, const struct hak_tariff *tariff,
                struct hak_arm arm);
double hak_clairvoyant_cost(const struct hak_gap *gap, const struct hak_tariff *tariff);

/* One arm for all gaps. */
struct hak_outcome hak_keep_for(const struct hak_gaps *gaps, const struct hak_tariff *tariff, struct hak_arm arm);
struct hak_outcome hak_clairvoyant(const struct hak_gaps *gaps, const struct hak_tariff *tariff, double weight);

/* Scope of an arm. For a few gaps the best arm in hindsight says nothing: each gap may have its arm. So FOR_BUSY has
 * an arm for each site with many gaps in a bin, an arm for the rest of each bin where that rest has many gaps, and an
 * arm for all remaining gaps. */
enum hak_scope { HAK_FOR_ALL, HAK_FOR_BIN, HAK_FOR_BUSY, HAK_FOR_SITE, HAK_SCOPES };

struct hak_ladder {
  const struct hak_arm *arm;
  size_t arms;
  uint32_t bins; /* as in struct hak_cut */
  uint64_t many; /* least number of gaps of a busy group */
};

/* Outcome of each arm of a ladder for each bin, site and bin, ... A row is as long as the ladder, and a trace may have
 * as many groups as gaps: rows of groups with at most HAK_FEW_GAPS gaps are made anew at each use. */
enum { HAK_FEW_GAPS = 5 };

struct hak_verdicts {
  const struct hak_gaps *gaps; /* the caller's */
  struct hak_tariff tariff;
  struct hak_arm *arm;
  size_t arms;
  size_t rows[HAK_SCOPES];
  uint64_t many, busy; /* busy: number of gaps of busy groups */
  struct hak_outcome *outcome[HAK_SCOPES]; /* row by row; FOR_BUSY: the rests' rows; FOR_SITE: kept rows */
  struct hak_outcome *room;                /* for a row that is not kept */
  uint32_t *first, *gap; /* first: index in `gap` of each group's first gap */
  uint32_t *kept;        /* by group: number of its kept row */
};
bool hak_verdicts_make(const struct hak_gaps *gaps, const struct hak_tariff *tariff, const struct hak_ladder *ladder,
                       struct hak_verdicts *out);
void hak_verdicts_drop(struct hak_verdicts *verdicts);

/* hak_best_arm: the cheapest arm for all gaps, the first of equals. hak_best: all rows, each at its cheapest arm. */
size_t hak_best_arm(const struct hak_verdicts *verdicts, const struct hak_tariff *tariff, double weight);
struct hak_outcome hak_best(const struct hak_verdicts *verdicts, const struct hak_tariff *tariff, enum hak_scope scope,
                            double weight);

/* ---- headroom ---- */

enum hak_kind {
  HAK_CLAIRVOYANT,
  HAK_BASELINE,
  HAK_BEST_FOR_ALL,
  HAK_BEST_BY_BIN,
  HAK_BEST_BY_BUSY,
  HAK_BEST_BY_SITE,
  HAK_KINDS
};

struct hak_policy {
  enum hak_kind kind;
  const struct hak_gaps *gaps;
  const struct hak_tariff *tariff;
  const struct hak_verdicts *verdicts;
};
struct hak_outcome hak_policy_at(const struct hak_policy *policy, double weight);

/* Least idle memory (or fetching) of the policy at the same fetching (or idle memory) as `base`. */
double hak_idle_at_equal_fetching(const struct hak_policy *policy, const struct hak_outcome *base);
double hak_fetching_at_equal_idle(const struct hak_policy *policy, const struct hak_outcome *base);

#endif
