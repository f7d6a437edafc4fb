/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policies.h: what keep-time policies would have paid for the gaps of a program.
 *
 * what      For each gap a policy has a keep time T. A block that is asked for again within T has paid rent only; else
 *           it has paid rent for T, goes back, and is fetched again. Rent: price x bytes x time; fetching: a call and
 *           its pages. The break-even T of a size is the time whose rent is what fetching costs.
 *
 *             clairvoyant   knows the gap: the smaller of rent and fetching
 *             baseline      T = break-even; never more than twice the clairvoyant (ski rental: Karlin, Manasse,
 *                           Rudolph and Sleator, 1988)
 *             best          the T that was best in hindsight, of a ladder; one for all, for each bin, or for each site
 *                           and bin
 *
 *           Frontier: the same policies with rent weighed `weight` times as much give all that a policy can make of
 *           memory and fetching. Between two points of it lies what a mixture of both would pay.
 * owner     The caller, until hak_verdicts_drop.
 * failure   Out of memory: false.
 * not here  Where gaps come from: gaps.h. First fetches, which no policy can save.
 */
#ifndef HAK_TOOLS_POLICIES_H
#define HAK_TOOLS_POLICIES_H

#include "gaps.h"

struct hak_tariff {
  double price; /* ns per MiB and second */
  double call_ns, page_ns;
};

struct hak_arm {
  bool absolute;
  double keep; /* nanoseconds, or times the break-even time */
};

struct hak_outcome {
  double idle;     /* MiB x s that free memory was kept */
  double fetch_ns; /* for all that was dropped, asked for again or not */
  uint64_t hits, drops, fetches, pages; /* fetches: dropped and asked for again; pages: of those */
};

static inline double hak_cost(const struct hak_tariff *tariff, const struct hak_outcome *outcome)
{
  return tariff->price * outcome->idle + outcome->fetch_ns;
}

/* Where memory costs nothing: infinite. */
double hak_break_even_ns(const struct hak_tariff *tariff, uint32_t pages);

/* Of one gap. */
void hak_charge(struct hak_outcome *outcome, const struct hak_gap *gap, const struct hak_tariff *tariff,
                struct hak_arm arm);
double hak_clairvoyant_cost(const struct hak_gap *gap, const struct hak_tariff *tariff);

/* One arm for all gaps. */
struct hak_outcome hak_keep_for(const struct hak_gaps *gaps, const struct hak_tariff *tariff, struct hak_arm arm);
struct hak_outcome hak_clairvoyant(const struct hak_gaps *gaps, const struct hak_tariff *tariff, double weight);

/* Who has an arm of his own. Of few gaps the best arm in hindsight says nothing: each may have what it wants. So for
 * FOR_BUSY, sites with many gaps in a bin; the others of a bin together where that makes many; and all the rest. */
enum hak_scope { HAK_FOR_ALL, HAK_FOR_BIN, HAK_FOR_BUSY, HAK_FOR_SITE, HAK_SCOPES };

struct hak_ladder {
  const struct hak_arm *arm;
  size_t arms;
  uint32_t bins; /* as in hak_cut */
  uint64_t many; /* gaps of who is busy */
};

/* What each arm of a ladder made of the gaps of each bin, of each site ... A row is as long as the ladder, and a trace may
 * have as many groups as gaps: of groups with few gaps no row is kept, it is made anew where it is wanted. */
enum { HAK_FEW_GAPS = 5 };

struct hak_verdicts {
  const struct hak_gaps *gaps; /* not its own */
  struct hak_tariff tariff;
  struct hak_arm *arm;
  size_t arms;
  size_t rows[HAK_SCOPES];
  uint64_t many, busy; /* busy: gaps of sites that have many in a bin */
  struct hak_outcome *outcome[HAK_SCOPES]; /* row by row; FOR_BUSY: of the rests; FOR_SITE: those that are kept */
  struct hak_outcome *room;                /* for a row that is not */
  uint32_t *first, *gap; /* first: of each group the first of its gaps in `gap` */
  uint32_t *kept;        /* of each group the number of its row */
};
bool hak_verdicts_make(const struct hak_gaps *gaps, const struct hak_tariff *tariff, const struct hak_ladder *ladder,
                       struct hak_verdicts *out);
void hak_verdicts_drop(struct hak_verdicts *verdicts);

/* The cheapest arm of all gaps, the first of equals; of all rows together, each with its cheapest arm. */
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

/* The least that the policy pays of the one where of the other it pays as much as `base`. */
double hak_idle_at_equal_fetching(const struct hak_policy *policy, const struct hak_outcome *base);
double hak_fetching_at_equal_idle(const struct hak_policy *policy, const struct hak_outcome *base);

#endif
