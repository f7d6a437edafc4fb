/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_keep.c: keep times of free big blocks, learnt while the program runs.
 *
 * what      Passes each big block taken or freed to a keeper (learn/keeper.h). For the keeper a site is a hash of
 *           address and depth, and a size is a bin. In mode `shadow` the keeper's decisions are written down, not used.
 *
 *               freed --> wait opens      taken --> wait closes --> noted --> arm --> keep time, and so the watermark
 *
 *           Learning has a share of the time (base/time_budget.h): a number of notes per window, a note for each block
 *           taken or freed, and at most half of the notes for a single bin. A block without a note has the break-even
 *           keep time. Blocks of the bin that first used up its half are not passed on until the window ends.
 * owner     g_learner, g_ring, g_journal; g_big_passing (in tables/learning.c).
 * locks     The lock of the big blocks is held.
 * failure   No memory: break-even. A fork in the middle of an update: open waits are dropped, learnt rows stay. A site
 *           without a row: the arm of the bin.
 * not here  The choice of an arm: learn/leader.h. The effect of a keep time: blocks/big_watermark.c.
 */
#include "learn/big_keep.h"

#include "base/time_budget.h"
#include "blocks/big.h"
#include "os/fork.h"
#include "os/os.h"
#include "retain/cost.h"
#include "retain/rent.h"
#include "tables/counters.h"
#include "tables/learning.h"
#include "tables/meta.h"
#include "tables/settings.h"
#include "tables/site.h"

enum {
  BIN_SHARE = 2, /* a bin has at most 1/2 of a window's notes */
  PAGE_LOG = 12, /* log2 of the pages of hak_leader_pages [bytes] */
  NS_PER_MS = 1000000
};

struct learner {
  struct hak_keeper keeper;
  struct hak_decisions decisions;
  uint64_t settings;  /* g_settings_generation when last compared */
  uint64_t generation; /* g_fork.generation when last compared */
  struct hak_time_budget budget;
  uint32_t skipped;    /* blocks of this window without a note, not yet in the counter */
  uint16_t left_of[HAK_LEADER_BINS];
};

/* Mapped on first use, as address space may be short. */
static struct learner *g_learner;
static HAK_RARE struct hak_decisions *g_ring;  /* decisions go here; NULL: to g_learner->decisions */
static HAK_RARE struct hak_journal_end g_journal;

static bool acts(void) { return hak_setting(mode) != HAK_MODE_SHADOW; }

/* ---- the budget ---- */

static HAK_NOINLINE void begin_window(uint64_t now_ms) {
  hak_time_budget_begin(&g_learner->budget, now_ms);
  uint64_t skipped = g_learner->skipped + g_big_passing.passed;
  if (skipped != 0) hak_count(HAK_COUNTER_learn_skipped, skipped);
  g_learner->skipped = 0;
  g_big_passing = (struct hak_big_passing){0};
  uint16_t share = (uint16_t)(g_learner->budget.left / BIN_SHARE);
  for (unsigned bin = 0; bin < HAK_LEADER_BINS; bin++) g_learner->left_of[bin] = share;
}

static HAK_NOINLINE bool make_locked(void) {
  g_learner = hak_meta_map(hak_round_up(sizeof *g_learner, hak_os_page_bytes()));
  if (g_learner == NULL) return false;
  g_learner->generation = hak_load(&g_fork.generation);
  bool first = g_learner->generation == 0;
  hak_keeper_write_into(&g_learner->keeper, g_ring != NULL && first ? g_ring : &g_learner->decisions);
  if (first) g_learner->keeper.journal = g_journal;
  return true;
}

/* Maps the learner on first use. False: no memory, so nothing is learnt. */
static bool is_there_locked(void) { return HAK_LIKELY(g_learner != NULL) || make_locked(); }

/* In a fork's child decisions go to a ring in private memory, inputs to no journal. */
static void heed_fork(void) {
  uint64_t generation = hak_load(&g_fork.generation);
  if (generation == g_learner->generation) return;
  hak_keeper_write_into(&g_learner->keeper, &g_learner->decisions);
  g_learner->keeper.journal.file = NULL;
  g_learner->generation = generation;
}

void hak_big_keep_cut(void) {
  if (g_learner == NULL) return;
  heed_fork();
  hak_keeper_drop_waits(&g_learner->keeper);
}

/* After a change of settings, blocks may have been taken or freed unnoted, so open waits are dropped. Any changed
 * setting counts, as the generation does not say which. */
static HAK_NOINLINE void begin_anew(uint64_t settings) {
  hak_big_keep_cut();
  g_learner->settings = settings;
}

void hak_big_write_decisions(struct hak_decisions *ring) {
  hak_decisions_start(ring);
  g_ring = ring;
}

void hak_big_write_journal(struct hak_journal *journal, uint64_t room) {
  g_journal = (struct hak_journal_end){journal, room, 0};
}

/* True if this block may have a note. Called for each block of a busy program, mostly to return false. */
HAK_INLINE bool has_time(unsigned bin, uint64_t now_ms) {
  if (HAK_UNLIKELY(hak_time_budget_is_over(&g_learner->budget, now_ms))) begin_window(now_ms);
  bool has = g_learner->left_of[bin] != 0 && g_learner->budget.left != 0;
  g_learner->skipped += !has;
  return has;
}

static void heed_knobs(void) {
  uint64_t settings = hak_load_acquire(&g_settings_generation);
  bool same = settings == g_learner->settings && hak_load(&g_fork.generation) == g_learner->generation;
  if (HAK_UNLIKELY(!same)) begin_anew(settings);
}

/* Excludes a bin from notes until the window ends, and drops the open waits of that bin. At most a bin per window. */
static HAK_NOINLINE void let_pass(unsigned bin) {
  uint64_t above = bin == 0 ? 0 : hak_leader_pages(bin - 1) << PAGE_LOG;
  uint64_t sizes = (hak_leader_pages(bin) << PAGE_LOG) - above;
  g_big_passing = (struct hak_big_passing){above, sizes, g_learner->budget.window_ms, 0};
  while (g_learner->keeper.waits.top[bin] != 0) hak_keeper_taken_unnoted(&g_learner->keeper, bin);
}

static void spend(unsigned bin, uint64_t begun_ns) {
  g_learner->budget.left--;
  if (--g_learner->left_of[bin] == 0 && g_big_passing.sizes == 0) let_pass(bin);
  if (!g_learner->budget.timed) hak_time_budget_time(&g_learner->budget, hak_os_now_ns() - begun_ns);
}

/* ---- blocks taken and freed ---- */

static uint32_t label_of(uint64_t address, uint32_t depth) {
  return (uint32_t)((address + ((uint64_t)depth << 40)) * 0x9e3779b97f4a7c15u >> 42);
}
static_assert(HAK_LEADER_SITES == 1 << (64 - 42), "label_of");

static uint32_t label_of_site(unsigned n) {
  return n == 0 ? HAK_ANY : label_of(hak_load(&g_site[n].address), hak_load(&g_site[n].depth));
}

static struct hak_asker asker_of(unsigned n, unsigned bin, uint64_t now_ns) {
  const struct hak_site *site = &g_site[n];
  return (struct hak_asker){
      .now = now_ns,
      .break_even = hak_rent_piece_ms() * NS_PER_MS,
      .label = hak_load(&site->address),
      .depth = n != 0 ? hak_load(&site->depth) : 0,
      .site = label_of_site(n),
      .bin = bin,
  };
}

/* Counts pages only: for blocks of 1 MiB and more, the kernel call is 1/250 of the cost of the pages. */
static void count_score(const struct hak_score *score) {
  if (score->waits == 0) return;
  hak_count(HAK_COUNTER_learn_waits, score->waits);
  hak_count(HAK_COUNTER_learn_paid_ns, (score->paid >> 16) * hak_cost_page());
  hak_count(HAK_COUNTER_learn_base_ns, (score->baseline >> 16) * hak_cost_page());
}

static HAK_NOINLINE unsigned learn_locked(unsigned site, unsigned bin) {
  struct hak_score score = {0};
  uint64_t begun_ns = hak_os_now_ns();
  struct hak_asker asker = asker_of(site, bin, begun_ns);
  uint64_t before = g_learner->keeper.decided;
  unsigned arm = hak_keeper_taken(&g_learner->keeper, &asker, &score);
  count_score(&score);
  if (g_learner->keeper.decided != before) hak_count(HAK_COUNTER_learn_decisions, 1);
  spend(bin, begun_ns);
  return arm;
}

static unsigned choose_locked(unsigned site, size_t bytes, uint64_t now_ms) {
  unsigned bin = hak_leader_bin(bytes);
  heed_knobs();
  if (HAK_UNLIKELY(hak_setting(mode) == HAK_MODE_FROZEN))
    return hak_keeper_arm(&g_learner->keeper, &(struct hak_asker){.site = label_of_site(site), .bin = bin});
  if (has_time(bin, now_ms)) return learn_locked(site, bin);
  hak_keeper_taken_unnoted(&g_learner->keeper, bin);
  return HAK_ARM_BREAK_EVEN;
}

static HAK_NOINLINE void learn_freed_locked(unsigned site, unsigned keep, unsigned bin) {
  struct hak_score score = {0};
  uint64_t begun_ns = hak_os_now_ns();
  heed_knobs();
  struct hak_asker asker = asker_of(site, bin, begun_ns);
  unsigned arm = acts() ? hak_keep_arm(keep) : hak_keeper_arm(&g_learner->keeper, &asker);
  hak_keeper_freed(&g_learner->keeper, &asker, arm, &score);
  count_score(&score);
  spend(bin, begun_ns);
}

void hak_big_keep_freed(unsigned site, unsigned keep, size_t bytes, uint64_t now_ms) {
  unsigned bin = hak_leader_bin(bytes);
  bool learns = g_learner != NULL && hak_setting(mode) != HAK_MODE_FROZEN;
  if (learns && has_time(bin, now_ms)) learn_freed_locked(site, keep, bin);
}

unsigned hak_big_keep_taken(unsigned site, size_t bytes, uint64_t now_ms) {
  unsigned told = hak_load(&g_site[site].keep);
  unsigned arm = is_there_locked() ? choose_locked(site, bytes, now_ms) : (unsigned)HAK_ARM_BREAK_EVEN;
  return told == 0 && acts() ? hak_keep_of_arm(arm) : told;
}

/* ---- learnt rows, read and restored ---- */

static bool read_locked(uint32_t label, uint32_t bin, struct hak_learnt *out) {
  const struct hak_leader *row = hak_leaders_row(&g_learner->keeper.leaders, label, bin);
  if (row == NULL) return false;
  out->row = *row;
  out->arm = hak_leader_arm(row);
  out->bin = bin;
  return true;
}

unsigned hak_big_learnt(unsigned site, struct hak_learnt rows[HAK_LEADER_BINS + 1]) {
  unsigned n = 0;
  uint64_t address = site != 0 ? hak_load_acquire(&g_site[site].address) : 0;
  uint32_t depth = site != 0 ? hak_load(&g_site[site].depth) : 0;
  uint32_t label = site != 0 ? label_of(address, depth) : HAK_ANY;
  if (site != 0 && address == 0) return 0;
  hak_big_lock();
  if (g_learner != NULL) {
    if (site == 0 && read_locked(HAK_ANY, HAK_ANY, &rows[n])) n++;
    for (uint32_t bin = 0; bin < HAK_LEADER_BINS; bin++) n += read_locked(label, bin, &rows[n]);
  }
  hak_big_unlock();
  for (unsigned i = 0; i < n; i++) rows[i].address = address, rows[i].depth = depth;
  return n;
}

bool hak_big_has_learnt(const struct hak_learnt *learnt) {
  uint32_t label = learnt->address == 0 ? HAK_ANY : label_of(learnt->address, learnt->depth);
  hak_big_lock();
  bool has = g_learner != NULL && hak_leaders_row(&g_learner->keeper.leaders, label, learnt->bin) != NULL;
  hak_big_unlock();
  return has;
}

void hak_big_restore(const struct hak_learnt *learnt) {
  uint32_t label = learnt->address == 0 ? HAK_ANY : label_of(learnt->address, learnt->depth);
  hak_big_lock();
  if (is_there_locked()) {
    heed_fork();
    hak_keeper_restore(&g_learner->keeper, label, learnt->bin, learnt->arm, &learnt->row);
  }
  hak_big_unlock();
}

static void join_locked(uint32_t label, const struct hak_learnt *learnt, const struct hak_leader *own) {
  struct hak_leader both = *own;
  hak_leader_join(&both, &learnt->row);
  heed_fork();
  hak_keeper_restore(&g_learner->keeper, label, learnt->bin, hak_leader_arm(own), &both);
}

void hak_big_join(const struct hak_learnt *learnt) {
  uint32_t label = learnt->address == 0 ? HAK_ANY : label_of(learnt->address, learnt->depth);
  hak_big_lock();
  const struct hak_leader *own = NULL;
  if (g_learner != NULL) own = hak_leaders_row(&g_learner->keeper.leaders, label, learnt->bin);
  if (own != NULL) join_locked(label, learnt, own);
  hak_big_unlock();
}
