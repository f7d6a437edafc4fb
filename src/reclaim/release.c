/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* release.c: free memory grows old and is released.
 *
 * what      See release.h.
 */
#include "reclaim/release.h"

#include "base/bits.h"
#include "blocks/big.h"
#include "blocks/slab.h"
#include "cache/account.h"
#include "cache/magazine.h"
#include "os/claim.h"
#include "os/os.h"
#include "os/thread.h"
#include "reclaim/drain_idle.h"
#include "retain/cost.h"
#include "retain/footprint.h"
#include "retain/rent.h"
#include "runs/region.h"
#include "runs/runs.h"
#include "tables/learning.h"

enum {
  SHARE_SHIFT = 2,        /* a fourth of what runs may keep: pages of slabs serve a single class */
  SEARCH_BYTES = 1 << 20, /* this excess begins an urgent sweep */
  BUSY_RENTS = 50,        /* page rents that a page waits while the program is at work: after a single rent half of
                             the pages were used again within a second (process_SteadyLoad) */
  PINNED_BYTES = 4 << 20, /* free bytes beyond the limit: blocks in magazines may pin so much */
  TORN_BYTES = 4 << 20,   /* free bytes beyond the limit in huge pages that are used in part */
  STEP_UNITS = 64,        /* visited per step, at the expense of a call of free */
  PASS_UNITS = 4096,      /* visited between two checks of is_stopped */
  STEP_BYTES = 64 << 10,  /* freed until the next step is due, at least */
  MOST_TICKS = 60000,     /* range of the slabs' 16-bit ticks: about an hour */
  PASS_LEAST_MS = 10,
  PASS_MOST_MS = 1000,
  PASSES_PER_RENT = 4
};

static HAK_TABLE_AT(3) struct {
  struct hak_claim claim; /* of all fields below */
  struct hak_watermark level; /* of bytes handed out of slabs */
  uint64_t most_bytes;    /* most bytes handed out, less bytes purged since */
  uint64_t apart_bytes;   /* free bytes on pages without blocks, less bytes purged since */
  struct hak_sweep sweep;
  bool sweeping, urgent;  /* a sweep is under way; urgent: until kept is within the limit */
  uint64_t begun_ms;      /* when the sweep began */
  uint64_t begun_live;    /* bytes handed out at that time */
  uint64_t stepped_live;  /* bytes handed out at the last step */
  uint64_t free_bytes;    /* pages of slabs less bytes handed out */
  uint64_t whole_live;    /* most bytes handed out since the last whole sweep began */
  bool whole;             /* urgent, and to the end of the range */
  uint64_t gone_bytes;    /* purged by the sweep */
  uint32_t calm;          /* passes without any change */
} g_release;


/* ---- runs and big blocks ---- */

/* Releases all big blocks beyond their keep limit, and a batch of the runs beyond theirs. Returns the bytes. */
static size_t age_runs(uint64_t torn) {
  size_t gone = hak_big_trim(SIZE_MAX);
  return gone + hak_runs_age(torn);
}

/* ---- pages of slabs ---- */

static uint64_t page_rent_ms(void) { return hak_rent_ms(hak_os_page_bytes()); }
static uint32_t page_rent_ticks(void) { return (uint32_t)(page_rent_ms() / HAK_TICK_MS) + 1; }

uint64_t hak_release_slab_bytes(void) {
  return hak_less(hak_less(hak_slab_bytes(), hak_slab_handed_out_all().bytes), hak_load(&g_footprint.empty));
}

/* The bytes of slabs are read first: bytes that a thread takes in between do not count as free, and bytes that a thread
 * frees in between are no longer live. A block shares at most two pages, the first and the last. */
static void note_level(void) {
  struct hak_watermark *level = &g_release.level;
  uint64_t now = hak_os_now_ms(), slab_bytes = hak_less(hak_slab_bytes(), hak_load(&g_footprint.empty));
  struct hak_slab_handed_out out = hak_slab_handed_out_grown();
  hak_store(&g_rent.now_ms, now);
  hak_cost_refresh(now);
  hak_watermark_set_rent(level, page_rent_ms());
  hak_watermark_learn(level, HAK_KIND_SLABS, hak_rent_kinds_learn());
  hak_watermark_note_misfit(level, hak_less(out.grown, hak_less(out.bytes, level->live)));
  hak_watermark_note(level, out.bytes, now);
  g_release.most_bytes = hak_max(g_release.most_bytes, out.bytes);
  g_release.apart_bytes = hak_less(slab_bytes, out.bytes + 2 * hak_os_page_bytes() * out.blocks);
  g_release.free_bytes = hak_less(slab_bytes, out.bytes);
  g_release.whole_live = hak_max(g_release.whole_live, out.bytes);
}

void hak_release_note(void) {
  if (!hak_claim_take(&g_release.claim)) return;
  note_level();
  hak_claim_drop(&g_release.claim);
}

/* Bytes freed and not taken again. Not all free bytes: under a steady load slabs are emptied and filled in turn. */
static uint64_t kept_slab_bytes(void) {
  return hak_max(hak_less(g_release.most_bytes, g_release.level.live), g_release.apart_bytes);
}

static uint64_t slab_keep_limit(void) { return hak_rent_keep_limit(&g_release.level, SHARE_SHIFT); }

static uint64_t excess(void) { return hak_less(kept_slab_bytes(), slab_keep_limit()); }

static bool is_below_floor(void) {
  uint64_t floor = hak_load(&g_hold_floor);
  return floor != 0 && kept_slab_bytes() <= floor;
}

static bool sweep_is_due(void) {
  return !is_below_floor() && hak_load(&g_rent.now_ms) - g_release.begun_ms >= page_rent_ms() / PASSES_PER_RENT;
}

static bool is_flat(void) { return hak_watermark_is_flat(&g_release.level); }

static void begin_sweep(bool urgent, uint32_t idle_ticks) {
  g_release.sweeping = true;
  g_release.urgent = urgent;
  g_release.whole = false;
  g_release.begun_ms = hak_load(&g_rent.now_ms);
  g_release.begun_live = g_release.stepped_live = g_release.level.live;
  g_release.gone_bytes = 0;
  g_release.sweep = (struct hak_sweep){.idle_ticks = (uint32_t)hak_min(idle_ticks, MOST_TICKS)};
}

/* True where speed is wanted and free memory needs no reuse to stay. */
static bool is_kept_for_speed(void) { return hak_rent_keep_floor() == UINT64_MAX; }

/* True if much free memory lies beside the bytes handed out: blocks in magazines may pin its pages. */
static bool may_be_pinned(void) {
  if (is_kept_for_speed()) return false;
  uint64_t free_bytes = g_release.free_bytes, stays = slab_keep_limit();
  return free_bytes > stays && free_bytes - stays > PINNED_BYTES;
}

/* True if handed-out bytes halved and are few beside much free memory: blocks freed behind the position of the last
 * sweep, or on pages that a block in this thread's magazines pins. The next slow path may never come, and then the
 * blocks freed during a sweep stay: a sweep per halving leaves few. */
static bool has_halved(void) {
  enum { FEW_PART = 4 };
  uint64_t live = g_release.level.live;
  return live <= g_release.whole_live / 2 && live <= g_release.free_bytes / FEW_PART && may_be_pinned();
}

/* A sweep of the whole range, after this thread's magazines were emptied. Without a wait: growth and fall may lie
 * within a tick, and no slow path may come later. */
static void begin_whole_sweep(struct hak_fault *fault) {
  if (hak_context != &g_empty_context) hak_magazine_end_all(hak_context, fault);
  g_release.whole_live = g_release.level.live;
  begin_sweep(true, 0);
  g_release.whole = true;
}

/* True while a fall may free huge pages as a whole: parts of them would be torn for little. */
static bool waits_for_wholes(void) {
  return hak_region_any_huge() && g_release.free_bytes <= slab_keep_limit() + TORN_BYTES;
}

/* Begins an urgent sweep if kept exceeds the limit, or a regular sweep if the time has come. */
static void begin_due_sweep(void) {
  if (excess() > SEARCH_BYTES && !waits_for_wholes()) begin_sweep(true, 1);
  else if (sweep_is_due()) begin_sweep(false, page_rent_ticks() * (is_flat() ? 1 : BUSY_RENTS));
}

/* What an urgent sweep left cannot be purged, except for blocks freed behind the sweep's position. */
static void end_sweep(void) {
  g_release.sweeping = false;
  if (g_release.urgent) g_release.most_bytes = hak_min(g_release.most_bytes, g_release.begun_live);
}

HAK_INLINE void go_on_sweeping(uint32_t units) {
  g_release.sweep.units = units;
  uint64_t gone = hak_slab_sweep(&g_release.sweep);
  g_release.gone_bytes += gone;
  g_release.most_bytes = hak_less(g_release.most_bytes, gone);
  g_release.apart_bytes = hak_less(g_release.apart_bytes, gone);
  if (g_release.urgent && !g_release.whole && excess() == 0) g_release.sweeping = false;
  else if (g_release.sweep.at == 0) end_sweep();
}

/* [bytes] Freed until the next step is due: a 512th of the bytes handed out, as neighbours that are freed meanwhile go
 * with one call, and huge pages as a whole. */
static uint64_t bytes_of_step(void) {
  enum { PART = 512 };
  return hak_max(g_release.level.live / PART, STEP_BYTES);
}

/* Units to visit in this step: STEP_UNITS for each STEP_BYTES freed since the last, as a magazine may free much at
 * once, and so many that a whole sweep ends before half of the handed-out bytes are freed. */
static uint32_t step_units(void) {
  uint64_t live = g_release.level.live, bytes = hak_max(bytes_of_step(), hak_less(g_release.stepped_live, live));
  uint64_t steps = live / (2 * bytes) + 1, units = hak_load(&g_range.units);
  g_release.stepped_live = live;
  return (uint32_t)hak_max(STEP_UNITS * bytes / STEP_BYTES, units / steps);
}

/* A batch of a sweep may be full before all units are visited. */
HAK_INLINE void take_step(void) {
  uint32_t from = g_release.sweep.at, units = step_units();
  do go_on_sweeping(units);
  while (g_release.sweeping && g_release.sweep.at - from < units && units > STEP_UNITS);
}

/* [bytes] Freed until an urgent sweep may be due. */
static uint64_t bytes_to_sweep(void) {
  uint64_t search = hak_less(slab_keep_limit() + SEARCH_BYTES, kept_slab_bytes());
  if (!waits_for_wholes()) return search;
  return hak_max(search, hak_less(slab_keep_limit() + TORN_BYTES, g_release.free_bytes));
}

/* Continues a sweep, or begins a sweep that is due. Returns the bytes that may be freed before the next step. */
HAK_INLINE uint64_t sweep_some(struct hak_fault *fault) {
  if (has_halved()) begin_whole_sweep(fault);
  else if (!g_release.sweeping) begin_due_sweep();
  if (g_release.sweeping) take_step();
  return g_release.sweeping ? bytes_of_step() : hak_max(bytes_to_sweep(), bytes_of_step());
}

/* For learning: what giving back costs. Between the two the claim is held. */
static struct hak_look begin_look(void) {
  if (HAK_LIKELY(hak_load(&g_learning) == NULL)) return (struct hak_look){.begun_ns = 0};
  return (struct hak_look){hak_os_now_ns(), hak_footprint(), hak_load(&g_footprint.empty)};
}
static void end_look(const struct hak_look *look) {
  if (HAK_UNLIKELY(look->begun_ns != 0)) hak_load_acquire(&g_learning)->looked(look);
}

bool hak_release_hold(void) { return hak_claim_wait(&g_release.claim); }

void hak_release_let_go(void) { hak_claim_drop(&g_release.claim); }

uint64_t hak_release_aged_some(void) {
  struct hak_fault fault = {HAK_ERROR_none, NULL};
  if (!hak_rent_release_enabled()) return hak_rent_is_due() ? HAK_RECLAIM_BYTES : INT64_MAX;
  if (!hak_claim_take(&g_release.claim)) return STEP_BYTES;
  struct hak_look look = begin_look();
  uint64_t bytes = sweep_some(&fault), torn = hak_less(TORN_BYTES, hak_less(g_release.free_bytes, slab_keep_limit()));
  while (age_runs(torn) != 0 && hak_footprint_idles()) { /* after the sweep, which closes slabs; by 64 runs */
  }
  end_look(&look);
  hak_claim_drop(&g_release.claim);
  hak_slab_report(&fault, NULL);
  return bytes;
}

/* ---- a pass of the background thread ---- */

static uint64_t pass_ms(void) {
  return hak_max(hak_min(page_rent_ms() / (2 * PASSES_PER_RENT), PASS_MOST_MS), PASS_LEAST_MS);
}

static bool is_refused(void) { return hak_rent_is_refused(hak_os_now_ms()); }

/* True if nothing was taken or freed for so long that all memory due is released. Memory that the kernel refuses to
 * purge, as a page is locked, cannot be released; the wait is the same. */
static bool is_quiet(void) {
  uint64_t floor = hak_load(&g_hold_floor);
  bool no_runs = hak_load(&g_footprint.big_cached) <= floor && hak_load(&g_footprint.dirty) <= floor;
  bool none = (no_runs || is_refused()) && g_release.gone_bytes == 0;
  g_release.calm = none && is_flat() ? g_release.calm + 1 : 0;
  return g_release.calm > 4 * PASSES_PER_RENT;
}

/* All memory due is released: unmaps addresses, too. */
static bool rest(void) {
  hak_runs_unmap_excess();
  return true;
}

/* Blocks that lay idle in magazines and the depot count as free since then, not as freed now. */
static void drain(struct hak_fault *fault) {
  uint64_t before = hak_slab_handed_out_all().bytes;
  hak_magazine_age_depot(fault);
  hak_drain_idle(fault, may_be_pinned());
  if (is_kept_for_speed()) return;
  uint64_t drained = hak_less(before, hak_slab_handed_out_all().bytes);
  hak_watermark_discount(&g_release.level, drained);
  g_release.most_bytes = hak_less(g_release.most_bytes, drained);
}

static void sweep_all(struct hak_fault *fault, bool (*is_stopped)(void)) {
  if (sweep_is_due()) drain(fault);
  if (!g_release.sweeping) begin_due_sweep();
  while (g_release.sweeping && !is_stopped()) go_on_sweeping(PASS_UNITS);
}

/* True: nothing is left to do. */
static bool pass(struct hak_fault *fault, bool (*is_stopped)(void)) {
  while (!is_stopped() && age_runs(0) != 0) {
  }
  sweep_all(fault, is_stopped);
  return is_quiet() && rest();
}

uint64_t hak_release_aged(bool (*is_stopped)(void)) {
  struct hak_fault fault = {HAK_ERROR_none, NULL};
  if (!hak_rent_is_due()) return UINT64_MAX;
  if (!hak_claim_take(&g_release.claim)) return pass_ms();
  struct hak_look look = begin_look();
  note_level();
  bool quiet = !is_refused() && pass(&fault, is_stopped);
  end_look(&look);
  hak_claim_drop(&g_release.claim);
  hak_slab_report(&fault, NULL);
  return quiet ? UINT64_MAX : is_refused() ? HAK_RENT_PATIENCE_MS : pass_ms();
}
