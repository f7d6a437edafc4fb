/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* evolve.h: cost of a program's gaps with keep times chosen by the library's learner.
 *
 * what      src/learn/keeper.c, the same code, called as learn/big_keep.c calls it: each allocation returns an arm,
 *           each free opens a wait. The keeper knows as much as in the library. With learning by process or size, no
 *           site is passed; with learning by process, the process's row is asked in addition.
 *
 *            regret   cost paid, relative to the best arm in hindsight, chosen per group of site and bin; for groups
 *                     with many gaps in a phase, without the first gaps of each. The remaining groups of a phase are
 *                     pooled by bin, with a best arm per bin.
 * owner     The caller, until hak_evolved_drop.
 * failure   Out of memory: false.
 * not here  The library's time budget: all blocks are learnt from.
 */
#ifndef HAK_TOOLS_EVOLVE_H
#define HAK_TOOLS_EVOLVE_H

#include "policies.h"

/* Rows that learn: the process's; also the bin's; also the site and bin's. */
enum hak_by { HAK_BY_PROCESS, HAK_BY_SIZE, HAK_BY_SITE, HAK_BYS };

struct hak_evolved {
  uint8_t *arm[HAK_BYS]; /* by gap */
  uint32_t *order;       /* gaps in the order of the frees */
};
/* The gaps must have been collected with their turns. */
bool hak_evolve(const struct hak_gaps *gaps, const struct hak_tariff *tariff, struct hak_evolved *out);
void hak_evolved_drop(struct hak_evolved *evolved);

/* Cost of one gap at an arm; outcome of all gaps, each at its arm. */
double hak_gap_cost(const struct hak_gap *gap, const struct hak_tariff *tariff, unsigned arm);
struct hak_outcome hak_evolved_outcome(const struct hak_gaps *gaps, const struct hak_tariff *tariff,
                                       const uint8_t *arm);

enum { HAK_MANY_GAPS = 1000, HAK_FIRST_GAPS = 200 };

/* One side of the comparison. */
struct hak_share {
  uint64_t rows, gaps; /* rows: groups or bins, summed over phases */
  double paid, best, clairvoyant;
};
struct hak_regret {
  struct hak_share many, few;
};

/* start[0 .. phases - 1]: time when each phase begins; start[0] is 0. */
bool hak_regret_of(const struct hak_gaps *gaps, const struct hak_tariff *tariff, const struct hak_evolved *evolved,
                enum hak_by by, const uint64_t *start, size_t phases, struct hak_regret *out);

#endif
