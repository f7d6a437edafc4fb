/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ageing.c: free memory grows old and goes back.
 *
 * what      See ageing.h.
 */
#include "front/ageing.h"

#include "box/big.h"
#include "box/slab.h"
#include "core/cost.h"
#include "core/footprint.h"
#include "core/rent.h"
#include "front/drain.h"
#include "front/magazine.h"
#include "os/fork.h"
#include "os/os.h"
#include "span/region.h"
#include "span/span.h"

enum {
  SHARE_SHIFT = 2,        /* a fourth of what may stay of runs: pages of slabs serve one class only */
  SEARCH_BYTES = 1 << 20, /* too much are a reason to search at once */
  BUSY_RENTS = 50,        /* that a page waits while the program is at work: half of those that waited for one were used
                             again within a second (process_SteadyLoad) */
  STEP_UNITS = 64,        /* that a step looks at, as one call of free pays for it, */
  PASS_UNITS = 4096,      /* that a pass looks at before it looks whether it is to stop */
  STEP_BYTES = 64 << 10,  /* and frees until the next one */
  MOST_TICKS = 60000,     /* that slabs can tell apart: an hour */
  PASS_LEAST_MS = 10,
  PASS_MOST_MS = 1000,
  PASSES_PER_RENT = 4
};

static HAK_TABLE_AT(3) struct {
  uint64_t claimed;       /* 1 + the generation of forks it was claimed in; 0: it is not */
  struct hak_level level; /* of blocks out of slabs */
  uint64_t most_bytes;    /* that were out, less what went since */
  uint64_t apart_bytes;   /* free ones that cannot lie beside blocks, less what went since */
  struct hak_sweep sweep;
  bool sweeping, urgent;  /* a sweep is under way; it ends when no more is kept than may stay */
  uint64_t begun_ms;      /* when the last one began */
  uint64_t begun_live;    /* and what was out */
  uint64_t gone_bytes;    /* that it has brought */
  uint32_t calm;          /* passes since anything changed */
} g_ageing;

static HAK_RARE struct hak_level_learner g_slab_learner;

/* What a fork left claimed is nobody's. */
static bool claim(void) {
  uint64_t seen = hak_load(&g_ageing.claimed), mine = 1 + hak_load(&g_fork.generation);
  return seen != mine && hak_cas_acquire(&g_ageing.claimed, &seen, mine);
}

static void give_up_claim(void) { hak_store_release(&g_ageing.claimed, 0); }

/* ---- runs and big blocks ---- */

/* One batch of each, while there are more than may stay; bytes that went. */
static size_t age_runs(void) {
  size_t gone = hak_big_trim(SIZE_MAX);
  return gone + hak_span_age();
}

/* ---- pages of slabs ---- */

static uint64_t page_rent_ms(void) { return hak_rent_ms(hak_os_page_bytes()); }
static uint32_t page_rent_ticks(void) { return (uint32_t)(page_rent_ms() / HAK_TICK_MS) + 1; }

static uint64_t less(uint64_t bytes, uint64_t other) { return bytes - hak_min(bytes, other); }

uint64_t hak_ageing_slab_bytes(void) {
  return less(less(hak_slab_bytes(), hak_slab_out_all().bytes), hak_load(&g_footprint.empty));
}

/* Slabs first: what other threads take meanwhile is then not free, and what they free is less live as well. Beside
 * blocks lie their first and their last page. */
static void note_level(void) {
  struct hak_level *level = &g_ageing.level;
  uint64_t now = hak_os_now_ms(), slab_bytes = less(hak_slab_bytes(), hak_load(&g_footprint.empty));
  struct hak_slab_out out = hak_slab_out_all();
  hak_store(&g_rent.now_ms, now);
  hak_cost_refresh(now);
  hak_level_set_rent(level, page_rent_ms());
  hak_level_learn(level, hak_rent_kinds_learn() ? &g_slab_learner : NULL);
  hak_level_note_unfit(level, less(hak_slab_grown_bytes(), less(out.bytes, level->live)));
  hak_level_note(level, out.bytes, now);
  g_ageing.most_bytes = hak_max(g_ageing.most_bytes, out.bytes);
  g_ageing.apart_bytes = less(slab_bytes, out.bytes + 2 * hak_os_page_bytes() * out.blocks);
}

void hak_ageing_note(void) {
  if (!claim()) return;
  note_level();
  give_up_claim();
}

/* What was freed and not taken again. Not what is free: slabs of a steady load are emptied and filled in turn. */
static uint64_t kept_bytes(void) {
  return hak_max(less(g_ageing.most_bytes, g_ageing.level.live), g_ageing.apart_bytes);
}

static uint64_t may_stay(void) { return hak_rent_may_stay(&g_ageing.level, SHARE_SHIFT); }

static uint64_t excess(void) { return less(kept_bytes(), may_stay()); }

static bool is_below_floor(void) {
  uint64_t floor = hak_load(&g_rent.floor);
  return floor != 0 && kept_bytes() <= floor;
}

static bool sweep_is_due(void) {
  return !is_below_floor() && hak_load(&g_rent.now_ms) - g_ageing.begun_ms >= page_rent_ms() / PASSES_PER_RENT;
}

static bool is_flat(void) { return hak_level_is_flat(&g_ageing.level); }

static void begin_sweep(bool urgent, uint32_t idle_ticks) {
  g_ageing.sweeping = true;
  g_ageing.urgent = urgent;
  g_ageing.begun_ms = hak_load(&g_rent.now_ms);
  g_ageing.begun_live = g_ageing.level.live;
  g_ageing.gone_bytes = 0;
  g_ageing.sweep = (struct hak_sweep){.idle_ticks = (uint32_t)hak_min(idle_ticks, MOST_TICKS)};
  if (!urgent) hak_region_sweep();
}

/* Begins a sweep if one is due: for the amount that is kept, or because time has passed. */
static void begin_due_sweep(void) {
  if (excess() > SEARCH_BYTES) begin_sweep(true, 1);
  else if (sweep_is_due()) begin_sweep(false, page_rent_ticks() * (is_flat() ? 1 : BUSY_RENTS));
}

/* What an urgent sweep left cannot go, but for what was freed behind its back. */
static void end_sweep(void) {
  g_ageing.sweeping = false;
  if (g_ageing.urgent) g_ageing.most_bytes = hak_min(g_ageing.most_bytes, g_ageing.begun_live);
}

static void go_on_sweeping(uint32_t units) {
  g_ageing.sweep.units = units;
  uint64_t gone = hak_slab_sweep(&g_ageing.sweep);
  g_ageing.gone_bytes += gone;
  g_ageing.most_bytes = less(g_ageing.most_bytes, gone);
  g_ageing.apart_bytes = less(g_ageing.apart_bytes, gone);
  if (g_ageing.urgent && excess() == 0) g_ageing.sweeping = false;
  else if (g_ageing.sweep.at == 0) end_sweep();
}

/* Goes on with a sweep, or begins one that is due; how many bytes may become free before the next step. */
static uint64_t sweep_some(void) {
  if (!g_ageing.sweeping) begin_due_sweep();
  if (g_ageing.sweeping) go_on_sweeping(STEP_UNITS);
  return g_ageing.sweeping ? STEP_BYTES : hak_max(less(may_stay() + SEARCH_BYTES, kept_bytes()), STEP_BYTES);
}

static bool is_free_of_charge(void) { return hak_knob(price) == 0 || hak_rent_holds(); }

bool hak_ageing_pays(void) { return !is_free_of_charge() && !hak_rent_is_refused(hak_os_now_ms()); }

uint64_t hak_ageing_reclaim_some(void) {
  if (!hak_ageing_pays()) return INT64_MAX;
  if (!claim()) return STEP_BYTES;
  age_runs();
  uint64_t bytes = sweep_some();
  give_up_claim();
  return bytes;
}

/* ---- the helper's pass ---- */

static uint64_t pass_ms(void) {
  return hak_max(hak_min(page_rent_ms() / (2 * PASSES_PER_RENT), PASS_MOST_MS), PASS_LEAST_MS);
}

static bool is_refused(void) { return hak_rent_is_refused(hak_os_now_ms()); }

/* Has nothing been taken or freed for so long that all that may go has gone? What the kernel refuses may not, as one
 * page of it is locked; the rest is waited for all the same. */
static bool is_quiet(void) {
  uint64_t floor = hak_load(&g_rent.floor);
  bool no_runs = hak_load(&g_footprint.kept) <= floor && hak_load(&g_footprint.dirty) <= floor;
  bool none = (no_runs || is_refused()) && g_ageing.gone_bytes == 0;
  g_ageing.calm = none && is_flat() ? g_ageing.calm + 1 : 0;
  return g_ageing.calm > 4 * PASSES_PER_RENT;
}

/* All that may go has gone: so do addresses. */
static bool rest(void) {
  hak_span_unmap_excess();
  return true;
}

static void sweep_all(struct hak_fault *fault, bool (*is_stopped)(void)) {
  if (sweep_is_due()) {
    hak_magazine_age_depot(fault);
    hak_drain_idle(fault);
  }
  if (!g_ageing.sweeping) begin_due_sweep();
  while (g_ageing.sweeping && !is_stopped()) go_on_sweeping(PASS_UNITS);
}

/* True: nothing is left to do. */
static bool pass(struct hak_fault *fault, bool (*is_stopped)(void)) {
  while (!is_stopped() && age_runs() != 0) {
  }
  sweep_all(fault, is_stopped);
  return is_quiet() && rest();
}

uint64_t hak_ageing_reclaim(bool (*is_stopped)(void)) {
  struct hak_fault fault = {HAK_ERRORS, NULL};
  if (is_free_of_charge()) return UINT64_MAX;
  if (!claim()) return pass_ms();
  note_level();
  bool quiet = !is_refused() && pass(&fault, is_stopped);
  give_up_claim();
  hak_slab_report(&fault, NULL);
  return quiet ? UINT64_MAX : is_refused() ? HAK_RENT_PATIENCE_MS : pass_ms();
}
