/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* evolve.c: cost of a program's gaps with keep times chosen by the library's learner; see evolve.h.
 *
 * what      Feeds the turns of the gaps to a keeper in order. A block keeps the arm and the site of its allocation
 *           through resizes, as the library's keeper is not told of a resize.
 */
#include "evolve.h"
#include "learn/keeper.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one gap ---- */

enum { piece_bytes = 2 << 20, ns_per_ms = 1000000, ms_per_day = 86400000 };

/* As in the library: break-even of a 2 MiB piece for blocks of all sizes, in whole milliseconds, at most a day. */
static uint64_t break_even_of(const struct hak_tariff *tariff)
{
  double ms = hak_break_even_ns(tariff, piece_bytes / HAK_PAGE) / ns_per_ms;
  return ms < ms_per_day ? (uint64_t)ms * ns_per_ms : (uint64_t)ms_per_day * ns_per_ms;
}

static struct hak_arm arm_of(const struct hak_tariff *tariff, unsigned arm)
{
  return (struct hak_arm){true, (double)hak_arm_time(arm, break_even_of(tariff))};
}

double hak_gap_cost(const struct hak_gap *gap, const struct hak_tariff *tariff, unsigned arm)
{
  struct hak_outcome outcome = {0};
  hak_charge(&outcome, gap, tariff, arm_of(tariff, arm));
  return hak_cost(tariff, &outcome);
}

struct hak_outcome hak_evolved_outcome(const struct hak_gaps *gaps, const struct hak_tariff *tariff, const uint8_t *arm)
{
  struct hak_outcome outcome = {0};
  for (size_t i = 0; i < gaps->gaps; i++)
    hak_charge(&outcome, &gaps->gap[i], tariff, arm_of(tariff, arm[i]));
  return outcome;
}

/* ---- the learner at work ---- */

/* Site and arm at the allocation of a record's block. */
struct told {
  uint32_t site;
  uint8_t arm;
};

struct learner {
  const struct hak_gaps *gaps;
  enum hak_by by;
  uint64_t break_even;
  struct hak_keeper *keeper;
  struct told *told; /* by record */
  uint8_t *arm;      /* by turn */
};

static struct hak_asker asker(const struct learner *l, const struct hak_turn *turn, uint32_t site)
{
  return (struct hak_asker){
      .now = turn->ns, .break_even = l->break_even,
      .site = l->by == HAK_BY_SITE ? site : HAK_ANY, .bin = hak_leader_bin((uint64_t)turn->pages * HAK_PAGE)};
}

static struct told take(struct learner *l, const struct hak_turn *turn)
{
  struct hak_score score = {0};
  struct told told = {.site = l->gaps->group[turn->group].site % HAK_LEADER_SITES};
  struct hak_asker who = asker(l, turn, told.site);
  told.arm = (uint8_t)hak_keeper_taken(l->keeper, &who, &score);
  if (l->by == HAK_BY_PROCESS) told.arm = hak_leaders_choose(&l->keeper->leaders, HAK_ANY, HAK_ANY).arm;
  return told;
}

static void tell_freed(struct learner *l, const struct hak_turn *turn)
{
  struct hak_score score = {0};
  const struct told *told = &l->told[turn->record];
  struct hak_asker who = asker(l, turn, told->site);
  hak_keeper_freed(l->keeper, &who, told->arm, &score);
}

static void follow(struct learner *l, size_t number)
{
  const struct hak_turn *turn = &l->gaps->turn[number];
  if (turn->freed) tell_freed(l, turn);
  else l->told[turn->record] = turn->from != 0 ? l->told[turn->from] : take(l, turn);
  l->arm[number] = l->told[turn->record].arm;
}

static bool learn(const struct hak_gaps *gaps, const struct hak_tariff *tariff, enum hak_by by, uint8_t *arm)
{
  struct learner l = {.gaps = gaps, .by = by, .break_even = break_even_of(tariff)};
  l.keeper = calloc(1, sizeof *l.keeper);
  l.told = calloc(gaps->first + 1, sizeof *l.told);
  l.arm = malloc(gaps->turns + 1);
  bool made = l.keeper != NULL && l.told != NULL && l.arm != NULL;
  for (size_t i = 0; made && i < gaps->turns; i++) follow(&l, i);
  for (size_t i = 0; made && i < gaps->gaps; i++) arm[i] = l.arm[gaps->gap[i].turn];
  free(l.keeper);
  free(l.told);
  free(l.arm);
  return made;
}

/* A turn begins at most one gap. */
static bool sort_by_turn(const struct hak_gaps *gaps, uint32_t *order)
{
  uint32_t *of_turn = calloc(gaps->turns + 1, sizeof *of_turn);
  if (of_turn == NULL) return false;
  for (size_t i = 0; i < gaps->gaps; i++) of_turn[gaps->gap[i].turn] = (uint32_t)i + 1;
  for (size_t turn = 0, count = 0; turn < gaps->turns; turn++)
    if (of_turn[turn] != 0) order[count++] = of_turn[turn] - 1;
  free(of_turn);
  return true;
}

bool hak_evolve(const struct hak_gaps *gaps, const struct hak_tariff *tariff, struct hak_evolved *out)
{
  memset(out, 0, sizeof *out);
  bool done = (out->order = malloc((gaps->gaps + 1) * sizeof *out->order)) != NULL && sort_by_turn(gaps, out->order);
  for (int by = 0; done && by < HAK_BYS; by++)
    done = (out->arm[by] = malloc(gaps->gaps + 1)) != NULL && learn(gaps, tariff, (enum hak_by)by, out->arm[by]);
  if (!done) hak_evolved_drop(out);
  return done;
}

void hak_evolved_drop(struct hak_evolved *evolved)
{
  for (int by = 0; by < HAK_BYS; by++) free(evolved->arm[by]);
  free(evolved->order);
  memset(evolved, 0, sizeof *evolved);
}

/* ---- regret ---- */

struct row {
  uint64_t seen, gaps; /* gaps: gaps that count */
  double arm[HAK_ARMS], paid, clairvoyant;
};

/* State for one phase. */
struct tally {
  const struct hak_gaps *gaps;
  const struct hak_tariff *tariff;
  const struct hak_evolved *evolved;
  enum hak_by by;
  uint32_t *count;         /* gaps of each group in the phase */
  uint32_t *own;           /* row in `group` of each group, from 1; 0: too few gaps in any phase */
  struct row *group, *bin;
  uint32_t rows; /* of `group` */
};

static size_t phase_end(const struct tally *t, size_t from, uint64_t until)
{
  while (from < t->gaps->gaps && t->gaps->gap[t->evolved->order[from]].freed_ns < until) from++;
  return from;
}

static void count(struct row *row, const struct tally *t, uint32_t number)
{
  const struct hak_gap *gap = &t->gaps->gap[number];
  double cost[HAK_ARMS];
  for (unsigned arm = 0; arm < HAK_ARMS; arm++) row->arm[arm] += cost[arm] = hak_gap_cost(gap, t->tariff, arm);
  row->gaps++;
  row->paid += cost[t->evolved->arm[t->by][number]];
  row->clairvoyant += hak_clairvoyant_cost(gap, t->tariff);
}

static void count_phase(struct tally *t, size_t from, size_t until)
{
  for (size_t i = from; i < until; i++) t->count[t->gaps->gap[t->evolved->order[i]].group]++;
  for (size_t i = from; i < until; i++) {
    uint32_t number = t->evolved->order[i], group = t->gaps->gap[number].group;
    bool many = t->count[group] >= HAK_MANY_GAPS;
    struct row *row = many ? &t->group[t->own[group] - 1] : &t->bin[t->gaps->group[group].bin];
    if (!many || row->seen++ >= HAK_FIRST_GAPS) count(row, t, number);
  }
}

static void add_up(struct hak_share *share, const struct row *row, size_t rows)
{
  for (size_t i = 0; i < rows; i++) {
    if (row[i].gaps == 0) continue;
    double best = row[i].arm[0];
    for (unsigned arm = 1; arm < HAK_ARMS; arm++) best = fmin(best, row[i].arm[arm]);
    share->rows++;
    share->gaps += row[i].gaps;
    share->paid += row[i].paid;
    share->best += best;
    share->clairvoyant += row[i].clairvoyant;
  }
}

enum { bins = 64 * HAK_BINS_MOST };

static void forget(struct tally *t)
{
  memset(t->count, 0, t->gaps->groups * sizeof *t->count);
  memset(t->group, 0, t->rows * sizeof *t->group);
  memset(t->bin, 0, bins * sizeof *t->bin);
}

/* A group with too few gaps in total has too few in each phase, and no row. */
static bool make_rows(struct tally *t)
{
  const struct hak_gaps *gaps = t->gaps;
  t->count = calloc((size_t)gaps->groups + 1, sizeof *t->count);
  t->own = calloc((size_t)gaps->groups + 1, sizeof *t->own);
  t->bin = calloc(bins, sizeof *t->bin);
  if (t->count == NULL || t->own == NULL || t->bin == NULL) return false;
  for (size_t i = 0; i < gaps->gaps; i++) t->count[gaps->gap[i].group]++;
  for (uint32_t group = 0; group < gaps->groups; group++)
    if (t->count[group] >= HAK_MANY_GAPS) t->own[group] = ++t->rows;
  return (t->group = calloc((size_t)t->rows + 1, sizeof *t->group)) != NULL;
}

static void drop_rows(struct tally *t)
{
  free(t->count);
  free(t->own);
  free(t->group);
  free(t->bin);
}

bool hak_regret_of(const struct hak_gaps *gaps, const struct hak_tariff *tariff, const struct hak_evolved *evolved,
                enum hak_by by, const uint64_t *start, size_t phases, struct hak_regret *out)
{
  struct tally t = {.gaps = gaps, .tariff = tariff, .evolved = evolved, .by = by};
  memset(out, 0, sizeof *out);
  bool done = make_rows(&t);
  for (size_t phase = 0, from = 0; done && phase < phases; phase++) {
    size_t until = phase_end(&t, from, phase + 1 < phases ? start[phase + 1] : UINT64_MAX);
    forget(&t);
    count_phase(&t, from, until);
    add_up(&out->many, t.group, t.rows);
    add_up(&out->few, t.bin, bins);
    from = until;
  }
  drop_rows(&t);
  return done;
}
