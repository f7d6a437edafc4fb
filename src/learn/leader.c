/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* leader.c: the keep time that pays, learnt from how long free blocks waited; see leader.h.
 *
 * what      A note is eight losses, a division, and eight sums in each of three rows; a choice joins three rows by
 *           shifts.
 * failure   No overflow: a wait costs at most 5 fetches; 256 waits stay below 2^27, 32 in the short memory below 2^16.
 */
#include "learn/leader.h"

#include <string.h>

#include "base/bits.h"

enum {
  FETCH_LOG = 16,
  FETCH = 1 << FETCH_LOG,
  DECAY_LOG = 8,
  LATELY_LOG = 5, /* log2 of the waits in the short memory */
  LATELY_UNIT_LOG = 8,
  ANOTHER = 16 << LATELY_UNIT_LOG, /* fetches, in 32 waits, by which the load has changed */
  WAIT = 128,     /* unit of a weight */
  WORTH_PROCESS_LOG = 2,
  WORTH_BIN_LOG = 4,
  FAVOUR = 2 * FETCH, /* prior in favour of break-even */
  STAY_LOG = 6,
  TOLD_LOG = 8,
};

/* ---- the ladder ---- */

uint32_t hak_leader_bin(uint64_t bytes) {
  uint64_t last = hak_max(bytes, 32769) - 1;
  unsigned log = hak_highest_bit(last);
  return (uint32_t)hak_min((log - 15) * 4 + (last >> (log - 2) & 3), HAK_LEADER_BINS - 1);
}

static const uint32_t ladder[HAK_ARMS] = {
    0, FETCH >> 4, FETCH >> 3, FETCH >> 2, FETCH >> 1, FETCH, FETCH << 1, FETCH << 2,
};
enum { LONGEST = FETCH << 2 };

/* The rent of a wait in fetches, rounded up, so that the rent is above an arm's if the wait is longer; for a wait that
 * outlasts all arms, just above the longest arm. */
static uint32_t rent_of(struct hak_wait wait) {
  enum { ROOM = 64 - FETCH_LOG - 4 };
  if (wait.lasted == 0) return 0;
  if (wait.break_even == UINT64_MAX) return 1;
  if (wait.lasted == UINT64_MAX || wait.lasted > hak_leader_longest(wait.break_even)) return LONGEST + 1;
  unsigned bits = hak_highest_bit(wait.break_even);
  unsigned cut = bits > ROOM ? bits - ROOM : 0;
  uint64_t whole = wait.break_even >> cut;
  return (uint32_t)hak_min((((wait.lasted >> cut) << FETCH_LOG) + whole - 1) / whole, LONGEST);
}

static uint32_t loss_of(uint32_t rent, unsigned arm) { return rent <= ladder[arm] ? rent : ladder[arm] + FETCH; }

static void lose(uint32_t rent, uint32_t loss[HAK_ARMS]) {
  for (unsigned arm = 0; arm < HAK_ARMS; arm++) loss[arm] = loss_of(rent, arm);
}

uint32_t hak_wait_loss(struct hak_wait wait, unsigned arm) { return loss_of(rent_of(wait), arm); }

/* ---- one row ---- */

/* A wait, as noted in rows. */
struct news {
  uint32_t loss[HAK_ARMS];
  uint16_t told, epoch;
};

static uint16_t one_more(uint16_t weight, unsigned log) {
  return (uint16_t)(weight + WAIT - ((weight + (1 << log) - 1) >> log));
}

/* Compares the two memories, each scaled by the weight of the second memory. */
static bool is_another_load(const struct hak_leader *row) {
  if (row->weight <= 2 * row->lately_weight) return false;
  for (unsigned arm = 0; arm <= HAK_ARM_BREAK_EVEN; arm++) {
    int64_t lately = (int64_t)row->lately[arm] * row->weight;
    int64_t before = (int64_t)(row->paid[arm] >> (FETCH_LOG - LATELY_UNIT_LOG)) * row->lately_weight;
    int64_t apart = lately > before ? lately - before : before - lately;
    if (apart > (int64_t)ANOTHER * row->weight) return true;
  }
  return false;
}

static void forget(struct hak_leader *row) {
  for (unsigned arm = 0; arm < HAK_ARMS; arm++)
    row->paid[arm] = (uint32_t)row->lately[arm] << (FETCH_LOG - LATELY_UNIT_LOG);
  row->weight = row->lately_weight;
}

static void tell_lately(struct hak_leader *row, const struct news *news) {
  if (row->epoch == news->epoch) return;
  row->epoch = news->epoch;
  for (unsigned arm = 0; arm < HAK_ARMS; arm++) {
    uint32_t loss = news->loss[arm] >> (FETCH_LOG - LATELY_UNIT_LOG);
    row->lately[arm] = (uint16_t)(row->lately[arm] + loss - (row->lately[arm] >> LATELY_LOG));
  }
  row->lately_weight = one_more(row->lately_weight, LATELY_LOG);
  if (is_another_load(row)) forget(row);
}

static void tell(struct hak_leader *row, const struct news *news) {
  for (unsigned arm = 0; arm < HAK_ARMS; arm++) row->paid[arm] += news->loss[arm] - (row->paid[arm] >> DECAY_LOG);
  row->weight = one_more(row->weight, DECAY_LOG);
  row->told = news->told;
  tell_lately(row, news);
}

/* The sum of joined rows. */
struct opinion {
  uint32_t paid[HAK_ARMS];
  uint32_t weight;
};

static void join(struct opinion *all, const struct hak_leader *row) {
  for (unsigned arm = 0; arm < HAK_ARMS; arm++) all->paid[arm] += row->paid[arm];
  all->weight += row->weight;
}

/* Scales more than 2^waits_log waits down to between half of 2^waits_log and 2^waits_log. */
static void shrink(struct opinion *all, unsigned waits_log) {
  uint32_t most = (uint32_t)WAIT << waits_log;
  if (all->weight <= most) return;
  unsigned shift = hak_highest_bit(all->weight - 1) + 1 - hak_highest_bit(most);
  for (unsigned arm = 0; arm < HAK_ARMS; arm++) all->paid[arm] >>= shift;
  all->weight >>= shift;
}

static unsigned least(const struct opinion *all) {
  unsigned best = HAK_ARM_BREAK_EVEN;
  for (unsigned arm = 0; arm < HAK_ARMS; arm++)
    if (all->paid[arm] < all->paid[best]) best = arm;
  return best;
}

unsigned hak_leader_arm(const struct hak_leader *row) { return row->arm ^ HAK_ARM_BREAK_EVEN; }
static void set_arm(struct hak_leader *row, unsigned arm) { row->arm = (arm ^ HAK_ARM_BREAK_EVEN) & (HAK_ARMS - 1); }

/* The best arm; but the row's last arm, unless the best is better by 1/64 of a fetch per wait. */
static unsigned best_for(const struct hak_leader *whose, const struct opinion *all) {
  unsigned best = least(all), before = hak_leader_arm(whose);
  uint32_t clearly = (uint32_t)whose->weight * (FETCH / WAIT) >> STAY_LOG;
  return whose->weight != 0 && all->paid[before] - all->paid[best] <= clearly ? before : best;
}

static struct hak_choice decide(struct hak_leader *whose, const struct opinion *all) {
  unsigned best = best_for(whose, all), before = hak_leader_arm(whose);
  set_arm(whose, best);
  return (struct hak_choice){(uint8_t)best, (uint8_t)before, whose->weight / WAIT, all->paid[best], all->paid[before]};
}

static void favour(struct opinion *all) {
  for (unsigned arm = 0; arm < HAK_ARMS; arm++) all->paid[arm] += arm == HAK_ARM_BREAK_EVEN ? 0 : FAVOUR;
}

/* ---- two rows ---- */

static struct opinion join_two(const struct hak_leader *general, const struct hak_leader *own) {
  struct opinion all = {.weight = 0};
  join(&all, general);
  shrink(&all, WORTH_PROCESS_LOG);
  favour(&all);
  join(&all, own);
  return all;
}

struct hak_choice hak_leader_choose(const struct hak_leader *general, struct hak_leader *own) {
  struct opinion all = join_two(general, own);
  return decide(own, &all);
}

bool hak_leader_knows(const struct hak_leader *own) { return own->weight > WAIT << WORTH_PROCESS_LOG; }

/* The time in units of the break-even time, rounded down to a power of two. */
static uint16_t epoch_of(struct hak_wait wait) {
  return (uint16_t)(wait.break_even == 0 ? wait.now : wait.now >> hak_highest_bit(wait.break_even));
}

static struct news news_of(struct hak_wait wait, uint64_t notes) {
  struct news news = {.told = (uint16_t)(notes >> TOLD_LOG), .epoch = epoch_of(wait)};
  lose(rent_of(wait), news.loss);
  return news;
}

void hak_leader_note(struct hak_leader *general, struct hak_leader *own, struct hak_wait wait) {
  struct news news = news_of(wait, 0);
  tell(general, &news);
  tell(own, &news);
}

/* ---- pairs ---- */

static uint32_t set_of(uint32_t site, uint32_t bin) { return (site * HAK_LEADER_BINS + bin) * 0x9E3779B1u >> 21; }

static bool is_of(const struct hak_leader *row, uint32_t site, uint32_t bin) {
  return row->weight != 0 && row->site == site && row->bin == bin;
}

static struct hak_leader *find(struct hak_leaders *leaders, uint32_t site, uint32_t bin) {
  return (struct hak_leader *)hak_leaders_row(leaders, site, bin);
}

/* Returns an empty row, or empties the row noted least recently; the row starts with the arm of bin and process. */
static struct hak_leader *replace(struct hak_leaders *leaders, uint32_t site, uint32_t bin) {
  struct hak_leader *set = leaders->pair[set_of(site, bin)], *oldest = set;
  uint16_t now = (uint16_t)(leaders->notes >> TOLD_LOG);
  for (unsigned way = 0; way < HAK_LEADER_WAYS && oldest->weight != 0; way++)
    if (set[way].weight == 0 || (uint16_t)(now - set[way].told) > (uint16_t)(now - oldest->told)) oldest = &set[way];
  unsigned arm = hak_leaders_arm(leaders, site, bin);
  memset(oldest, 0, sizeof *oldest);
  oldest->site = site & (HAK_LEADER_SITES - 1);
  oldest->bin = bin & (HAK_LEADER_BINS - 1);
  set_arm(oldest, arm);
  return oldest;
}

void hak_leaders_note(struct hak_leaders *leaders, uint32_t site, uint32_t bin, struct hak_wait wait) {
  struct hak_leader *pair = site == HAK_ANY ? NULL : find(leaders, site, bin);
  if (pair == NULL && site != HAK_ANY) pair = replace(leaders, site, bin);
  struct news news = news_of(wait, ++leaders->notes);
  tell(&leaders->process, &news);
  if (bin != HAK_ANY) tell(&leaders->bin[bin], &news);
  if (pair != NULL) tell(pair, &news);
}

/* Joins all rows that count for a site and bin. Returns the row that the choice belongs to; NULL: no such row. */
static const struct hak_leader *join_all(const struct hak_leaders *leaders, uint32_t site, uint32_t bin,
                                         struct opinion *all) {
  const struct hak_leader *whose = &leaders->process;
  *all = (struct opinion){.weight = 0};
  if (bin == HAK_ANY) {
    join(all, whose);
    favour(all);
    return whose;
  }
  *all = join_two(whose, &leaders->bin[bin]);
  if (site == HAK_ANY) return &leaders->bin[bin];
  shrink(all, WORTH_BIN_LOG);
  whose = hak_leaders_row(leaders, site, bin);
  if (whose != NULL) join(all, whose);
  return whose;
}

unsigned hak_leaders_arm(const struct hak_leaders *leaders, uint32_t site, uint32_t bin) {
  static const struct hak_leader nobody = {.weight = 0};
  struct opinion all;
  const struct hak_leader *whose = join_all(leaders, site, bin, &all);
  return best_for(whose != NULL ? whose : &nobody, &all);
}

struct hak_choice hak_leaders_choose(struct hak_leaders *leaders, uint32_t site, uint32_t bin) {
  struct hak_leader nobody = {.weight = 0};
  struct opinion all;
  const struct hak_leader *whose = join_all(leaders, site, bin, &all);
  return decide(whose != NULL ? (struct hak_leader *)whose : &nobody, &all);
}

/* ---- learnt rows, read and restored ---- */

const struct hak_leader *hak_leaders_row(const struct hak_leaders *leaders, uint32_t site, uint32_t bin) {
  const struct hak_leader *row = bin == HAK_ANY ? &leaders->process : &leaders->bin[bin];
  if (site == HAK_ANY) return row->weight != 0 ? row : NULL;
  const struct hak_leader *set = leaders->pair[set_of(site, bin)];
  for (unsigned way = 0; way < HAK_LEADER_WAYS; way++)
    if (is_of(&set[way], site, bin)) return &set[way];
  return NULL;
}

static struct hak_leader *row_to_restore(struct hak_leaders *leaders, uint32_t site, uint32_t bin) {
  if (site == HAK_ANY) return bin == HAK_ANY ? &leaders->process : &leaders->bin[bin];
  struct hak_leader *row = find(leaders, site, bin);
  return row != NULL ? row : replace(leaders, site, bin);
}

void hak_leader_restore(struct hak_leader *row, unsigned arm, const struct hak_leader *as) {
  for (unsigned i = 0; i < HAK_ARMS; i++) row->paid[i] = (uint32_t)hak_min(as->paid[i], HAK_LEADER_PAID_MOST);
  row->weight = (uint16_t)hak_min(as->weight, HAK_LEADER_WEIGHT_MOST);
  set_arm(row, arm);
}

void hak_leaders_restore(struct hak_leaders *leaders, uint32_t site, uint32_t bin, unsigned arm,
                         const struct hak_leader *as) {
  hak_leader_restore(row_to_restore(leaders, site, bin), arm, as);
}

void hak_leader_join(struct hak_leader *row, const struct hak_leader *other) {
  if (other->weight > row->weight) hak_leader_restore(row, hak_leader_arm(row), other);
}
