/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* evolve.h: what a program's gaps would have cost whom the library's learner tells how long to keep.
 *
 * what      src/learn/keeper.c, the same code, called as blocks/big_learn.c calls it: told of each block that is taken,
 *           which gives the arm, and of each that is freed, which opens a wait. It knows what the library would know.
 *           Where nothing is learnt of sites it is told of none; of the process, its row is asked besides.
 *
 *             regret   what was paid, to what the best arm in hindsight pays, each group of site and bin with its own;
 *                      over groups with many gaps in a phase, their first ones left out. The other groups of a phase
 *                      are pooled by bin, each bin with its own arm.
 * owner     The caller, until hak_evolved_drop.
 * failure   Out of memory: false.
 * not here  The library's budget: here all blocks are learnt from.
 */
#ifndef HAK_TOOLS_EVOLVE_H
#define HAK_TOOLS_EVOLVE_H

#include "policies.h"

/* Whose waits are learnt from: all the process's, those of the bin, too, and of the site and bin, too. */
enum hak_by { HAK_BY_PROCESS, HAK_BY_SIZE, HAK_BY_SITE, HAK_BYS };

struct hak_evolved {
  uint8_t *arm[HAK_BYS]; /* of each gap */
  uint32_t *order;       /* the gaps as their blocks were freed */
};
/* The gaps were collected with their turns. */
bool hak_evolve(const struct hak_gaps *gaps, const struct hak_tariff *tariff, struct hak_evolved *out);
void hak_evolved_drop(struct hak_evolved *evolved);

/* One gap at an arm, or all of them. */
double hak_gap_cost(const struct hak_gap *gap, const struct hak_tariff *tariff, unsigned arm);
struct hak_outcome hak_evolved_outcome(const struct hak_gaps *gaps, const struct hak_tariff *tariff,
                                       const uint8_t *arm);

enum { HAK_MANY_GAPS = 1000, HAK_FIRST_GAPS = 200 };

/* Of what is compared. */
struct hak_share {
  uint64_t rows, gaps; /* rows: groups, or bins, of a phase */
  double paid, best, clairvoyant;
};
struct hak_regret {
  struct hak_share many, few;
};

/* A phase begins at each of `start`, of `phases`; the first at 0. */
bool hak_regret_of(const struct hak_gaps *gaps, const struct hak_tariff *tariff, const struct hak_evolved *evolved,
                enum hak_by by, const uint64_t *start, size_t phases, struct hak_regret *out);

#endif
