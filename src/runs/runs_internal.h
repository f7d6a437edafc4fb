/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runs_internal.h: what runs.c and runs_purge.c share.
 *
 * what      The bins, the queue of dirty runs by age, and the steps that are taken with the lock held.
 * owner     g_runs (in runs.c).
 * locks     g_runs.lock.
 * not here  What other modules may call: runs.h.
 */
#ifndef HAK_RUNS_RUNS_INTERNAL_H
#define HAK_RUNS_RUNS_INTERNAL_H

#include "os/lock.h"
#include "retain/footprint.h"
#include "retain/rent.h"
#include "runs/runs.h"
#include "tables/counters.h"

enum { HAK_RUNS_BINS = 256, HAK_RUNS_WORDS = HAK_RUNS_BINS / 64, HAK_RUNS_SORTS = 3 };

struct hak_runs_bins {
  uint64_t units;
  uint64_t filled[HAK_RUNS_WORDS];
  uint32_t first[HAK_RUNS_BINS]; /* last: of runs that are gone a small process has none, and no page for these */
};

struct hak_runs_state {
  struct hak_lock lock;
  uint32_t oldest, youngest;                   /* ends of the queue of dirty runs */
  uint64_t detached;                           /* units of free runs whose pages are worked on without the lock */
  struct hak_watermark level;                      /* of runs in use */
  uint64_t unclocked;                          /* units put since the clock was last read */
  struct hak_runs_bins sort[HAK_RUNS_SORTS];   /* clean, dirty, gone, in the order of enum hak_unit_kind */
};
extern HAK_HIDDEN struct hak_runs_state g_runs;

/* After a fork cut something: bins and queue are made again from the unit table. */
void hak_runs_rebuild(void);

static inline void hak_runs_lock(void) {
  if (HAK_UNLIKELY(hak_lock_take(&g_runs.lock))) hak_runs_rebuild();
}

/* When memory is fetched, and when it is asked what may stay: the price may be another one, or the mode. */
static inline void hak_runs_set_rent_locked(void) {
  hak_watermark_learn(&g_runs.level, HAK_KIND_RUNS, hak_rent_kinds_learn());
  hak_watermark_set_rent(&g_runs.level, hak_rent_piece_ms());
}

static inline uint64_t hak_runs_dirty_bytes(void) {
  return g_runs.sort[HAK_UNIT_DIRTY - HAK_UNIT_CLEAN].units << HAK_UNIT_SHIFT;
}

/* Says how much may hold pages, and notes how much is in use. */
static inline void hak_runs_publish_locked(void) {
  uint64_t span = g_range.mapped - (g_runs.sort[0].units << HAK_UNIT_SHIFT), dirty = hak_runs_dirty_bytes();
  uint64_t free = dirty + (g_runs.detached << HAK_UNIT_SHIFT);
  hak_watermark_note(&g_runs.level, span - hak_min(free, span), hak_load(&g_rent.now_ms));
  hak_store(&g_footprint.span, span);
  hak_store(&g_footprint.dirty, dirty);
}

/* The same of how much may stay free. */
static inline uint64_t hak_runs_publish_stay_locked(void) {
  uint64_t stay = hak_rent_keep_limit(&g_runs.level, 0);
  hak_store(&g_footprint.may_idle, stay);
  hak_store(&g_footprint.spare, g_runs.level.misfit == 0 ? stay : 0);
  return stay;
}

static inline void hak_runs_unlock(void) {
  hak_runs_publish_locked();
  hak_lock_drop(&g_runs.lock);
}

/* A run of this sort of at least `units`, best fit first; HAK_NO_UNIT. */
uint32_t hak_runs_fit_locked(enum hak_unit_kind kind, size_t units);

/* One of the longest free runs of this sort, if it has so many units; HAK_NO_UNIT: none has. Short runs stay, as blocks
 * with a short life take them again. */
uint32_t hak_runs_longest_locked(enum hak_unit_kind kind, size_t units);

/* Takes a free run, or so many units at its end, out of bins and queue, so that its pages can be worked on without the
 * lock; the first of them. A cut leaks them. And puts them back. */
uint32_t hak_runs_detach_locked(uint32_t first, size_t units);
uint32_t hak_runs_attach_locked(uint32_t first, size_t units, enum hak_unit_kind kind);

/* Frees [first, first + units), merging with neighbours of the same sort; the first unit of the whole. */
uint32_t hak_runs_merge_locked(uint32_t first, size_t units, enum hak_unit_kind kind);

/* Counts one, with the lock held: nobody else writes this counter. */
static inline void hak_runs_count(enum hak_counter_id id) {
  uint64_t *cell = &g_counter[id];
  hak_store(cell, hak_load(cell) + 1);
  hak_count_shown(id, 1);
}

#endif
