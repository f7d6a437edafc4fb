/* evolve.c: what a program's gaps would have cost whom the library's learner tells how long to keep; see evolve.h.
 *
 * what      Two rows in order of time, merged: blocks that are freed, and gaps that are known. Of one instant the first
 *           come first, so that nobody knows his own gap.
 */
#include "evolve.h"
#include "learn/leader.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one gap ---- */

static uint64_t break_even_of(const struct hak_gap *gap, const struct hak_tariff *tariff)
{
  double ns = hak_break_even_ns(tariff, gap->pages);
  return ns < 1e19 ? (uint64_t)llrint(fmin(ns, 9e18)) : UINT64_MAX;
}

static struct hak_arm arm_of(const struct hak_gap *gap, const struct hak_tariff *tariff, unsigned arm)
{
  uint64_t ns = hak_leader_time(arm, break_even_of(gap, tariff));
  return (struct hak_arm){true, ns == UINT64_MAX ? INFINITY : (double)ns};
}

double hak_gap_cost(const struct hak_gap *gap, const struct hak_tariff *tariff, unsigned arm)
{
  struct hak_outcome outcome = {0};
  hak_charge(&outcome, gap, tariff, arm_of(gap, tariff, arm));
  return hak_cost(tariff, &outcome);
}

struct hak_outcome hak_evolved_outcome(const struct hak_gaps *gaps, const struct hak_tariff *tariff, const uint8_t *arm)
{
  struct hak_outcome outcome = {0};
  for (size_t i = 0; i < gaps->gaps; i++)
    hak_charge(&outcome, &gaps->gap[i], tariff, arm_of(&gaps->gap[i], tariff, arm[i]));
  return outcome;
}

/* ---- the order in which things happen ---- */

struct moment {
  uint64_t ns;
  uint32_t gap;
};

static int by_time(const void *one, const void *other)
{
  const struct moment *a = one, *b = other;
  if (a->ns != b->ns) return a->ns < b->ns ? -1 : 1;
  return a->gap < b->gap ? -1 : a->gap > b->gap;
}

/* What is never known is left out: a gap that the end cut off before it outlasted the longest arm. */
static size_t fill(const struct hak_gaps *gaps, const struct hak_tariff *tariff, struct moment *freed,
                   struct moment *known)
{
  size_t count = 0;
  for (uint32_t i = 0; i < gaps->gaps; i++) {
    const struct hak_gap *gap = &gaps->gap[i];
    uint64_t longest = hak_leader_longest(break_even_of(gap, tariff));
    freed[i] = (struct moment){gap->freed_ns, i};
    if (gap->ns > longest || !gap->open)
      known[count++] = (struct moment){gap->freed_ns + (gap->ns > longest ? longest : gap->ns), i};
  }
  qsort(freed, gaps->gaps, sizeof *freed, by_time);
  qsort(known, count, sizeof *known, by_time);
  return count;
}

/* ---- the learner at work ---- */

struct asker {
  uint32_t site, bin;
};

static struct asker asker(const struct hak_gaps *gaps, const struct hak_gap *gap, enum hak_by by)
{
  uint32_t site = gaps->group[gap->group].site % HAK_LEADER_SITES;
  uint32_t bin = hak_leader_bin((uint64_t)gap->pages * HAK_PAGE);
  return (struct asker){by == HAK_BY_SITE ? site : HAK_ANY, by == HAK_BY_PROCESS ? HAK_ANY : bin};
}

static void tell(struct hak_leaders *leaders, const struct hak_gaps *gaps, const struct hak_tariff *tariff,
                 struct moment known, enum hak_by by)
{
  const struct hak_gap *gap = &gaps->gap[known.gap];
  struct asker whose = asker(gaps, gap, by);
  struct hak_wait wait = {.lasted = gap->ns, .break_even = break_even_of(gap, tariff), .now = known.ns};
  hak_leaders_note(leaders, whose.site, whose.bin, wait);
}

static void ask(struct hak_leaders *leaders, const struct hak_gaps *gaps, uint32_t number, enum hak_by by, uint8_t *arm)
{
  struct asker whose = asker(gaps, &gaps->gap[number], by);
  arm[number] = hak_leaders_choose(leaders, whose.site, whose.bin).arm;
}

struct timeline {
  struct moment *freed, *known;
  size_t knowns;
};

static bool learn(const struct hak_gaps *gaps, const struct hak_tariff *tariff, const struct timeline *line,
                  enum hak_by by, uint8_t *arm)
{
  struct hak_leaders *leaders = calloc(1, sizeof *leaders);
  if (leaders == NULL) return false;
  for (size_t next = 0, i = 0; i < gaps->gaps; i++) {
    while (next < line->knowns && line->known[next].ns < line->freed[i].ns)
      tell(leaders, gaps, tariff, line->known[next++], by);
    ask(leaders, gaps, line->freed[i].gap, by, arm);
  }
  free(leaders);
  return true;
}

static bool make_room(struct hak_evolved *out, struct timeline *line, size_t gaps)
{
  bool made = true;
  for (int by = 0; by < HAK_BYS; by++) made &= (out->arm[by] = malloc(gaps + 1)) != NULL;
  made &= (out->order = malloc((gaps + 1) * sizeof *out->order)) != NULL;
  made &= (line->freed = malloc((gaps + 1) * sizeof *line->freed)) != NULL;
  return made & ((line->known = malloc((gaps + 1) * sizeof *line->known)) != NULL);
}

bool hak_evolve(const struct hak_gaps *gaps, const struct hak_tariff *tariff, struct hak_evolved *out)
{
  struct timeline line = {0};
  memset(out, 0, sizeof *out);
  bool done = make_room(out, &line, gaps->gaps);
  if (done) line.knowns = fill(gaps, tariff, line.freed, line.known);
  for (size_t i = 0; done && i < gaps->gaps; i++) out->order[i] = line.freed[i].gap;
  for (int by = 0; done && by < HAK_BYS; by++) done = learn(gaps, tariff, &line, (enum hak_by)by, out->arm[by]);
  free(line.freed);
  free(line.known);
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
  uint64_t seen, gaps; /* gaps: those that count */
  double arm[HAK_ARMS], paid, clairvoyant;
};

/* What is gone through for each phase. */
struct tally {
  const struct hak_gaps *gaps;
  const struct hak_tariff *tariff;
  const struct hak_evolved *evolved;
  enum hak_by by;
  uint64_t *count;         /* gaps of each group in the phase */
  struct row *group, *bin;
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
    struct row *row = many ? &t->group[group] : &t->bin[t->gaps->group[group].bin];
    if (!many || t->group[group].seen++ >= HAK_FIRST_GAPS) count(row, t, number);
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
  memset(t->group, 0, t->gaps->groups * sizeof *t->group);
  memset(t->bin, 0, bins * sizeof *t->bin);
}

bool hak_regret_of(const struct hak_gaps *gaps, const struct hak_tariff *tariff, const struct hak_evolved *evolved,
                enum hak_by by, const uint64_t *start, size_t phases, struct hak_regret *out)
{
  struct tally t = {.gaps = gaps, .tariff = tariff, .evolved = evolved, .by = by};
  memset(out, 0, sizeof *out);
  t.count = calloc(gaps->groups + 1, sizeof *t.count);
  t.group = calloc(gaps->groups + 1, sizeof *t.group);
  t.bin = calloc(bins, sizeof *t.bin);
  bool done = t.count != NULL && t.group != NULL && t.bin != NULL;
  for (size_t phase = 0, from = 0; done && phase < phases; phase++) {
    size_t until = phase_end(&t, from, phase + 1 < phases ? start[phase + 1] : UINT64_MAX);
    forget(&t);
    count_phase(&t, from, until);
    add_up(&out->many, t.group, gaps->groups);
    add_up(&out->few, t.bin, bins);
    from = until;
  }
  free(t.count);
  free(t.group);
  free(t.bin);
  return done;
}
