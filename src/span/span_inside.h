/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* span_inside.h: what span.c and span_purge.c share.
 *
 * what      The bins, the queue of dirty runs by age, and the steps that are taken with the lock held.
 * owner     g_span (in span.c).
 * locks     g_span.lock.
 * not here  What other modules may call: span.h.
 */
#ifndef HAK_SPAN_SPAN_INSIDE_H
#define HAK_SPAN_SPAN_INSIDE_H

#include "core/counters.h"
#include "core/footprint.h"
#include "core/rent.h"
#include "os/lock.h"
#include "span/span.h"

enum { HAK_SPAN_BINS = 256, HAK_SPAN_WORDS = HAK_SPAN_BINS / 64, HAK_SPAN_SORTS = 3 };

struct hak_span_bins {
  uint64_t units;
  uint64_t filled[HAK_SPAN_WORDS];
  uint32_t first[HAK_SPAN_BINS]; /* last: of runs that are gone a small process has none, and no page for these */
};

struct hak_span_state {
  struct hak_lock lock;
  uint32_t oldest, youngest;                   /* ends of the queue of dirty runs */
  uint64_t detached;                           /* units of free runs whose pages are worked on without the lock */
  struct hak_level level;                      /* of runs in use */
  uint64_t unclocked;                          /* units put since the clock was last read */
  struct hak_span_bins sort[HAK_SPAN_SORTS];   /* clean, dirty, gone, in the order of enum hak_unit_kind */
};
extern HAK_HIDDEN struct hak_span_state g_span;
extern HAK_HIDDEN struct hak_level_learner g_span_learner;

/* After a fork cut something: bins and queue are made again from the unit table. */
void hak_span_rebuild(void);

static inline void hak_span_lock(void) {
  if (HAK_UNLIKELY(hak_lock_take(&g_span.lock))) hak_span_rebuild();
}

/* When memory is fetched, and when it is asked what may stay: the price may be another one, or the mode. */
static inline void hak_span_set_rent_locked(void) {
  hak_level_learn(&g_span.level, hak_rent_kinds_learn() ? &g_span_learner : NULL);
  hak_level_set_rent(&g_span.level, hak_rent_piece_ms());
}

static inline uint64_t hak_span_dirty_bytes(void) {
  return g_span.sort[HAK_UNIT_DIRTY - HAK_UNIT_CLEAN].units << HAK_UNIT_SHIFT;
}

/* Says how much may hold pages, and notes how much is in use. */
static inline void hak_span_publish_locked(void) {
  uint64_t span = g_range.mapped - (g_span.sort[0].units << HAK_UNIT_SHIFT), dirty = hak_span_dirty_bytes();
  uint64_t free = dirty + (g_span.detached << HAK_UNIT_SHIFT);
  hak_level_note(&g_span.level, span - hak_min(free, span), hak_load(&g_rent.now_ms));
  hak_store(&g_footprint.span, span);
  hak_store(&g_footprint.dirty, dirty);
}

/* The same of how much may stay free. */
static inline uint64_t hak_span_publish_stay_locked(void) {
  uint64_t stay = hak_rent_may_stay(&g_span.level, 0);
  hak_store(&g_footprint.may_idle, stay);
  hak_store(&g_footprint.stock, g_span.level.unfit == 0 ? stay : 0);
  return stay;
}

static inline void hak_span_unlock(void) {
  hak_span_publish_locked();
  hak_lock_drop(&g_span.lock);
}

/* A run of this sort of at least `units`, best fit first; HAK_NO_UNIT. */
uint32_t hak_span_fit_locked(enum hak_unit_kind kind, size_t units);

/* One of the longest free runs of this sort, if it has so many units; HAK_NO_UNIT: none has. Short runs stay, as blocks
 * with a short life take them again. */
uint32_t hak_span_longest_locked(enum hak_unit_kind kind, size_t units);

/* Takes a free run, or so many units at its end, out of bins and queue, so that its pages can be worked on without the
 * lock; the first of them. A cut leaks them. And puts them back. */
uint32_t hak_span_detach_locked(uint32_t first, size_t units);
uint32_t hak_span_attach_locked(uint32_t first, size_t units, enum hak_unit_kind kind);

/* Frees [first, first + units), merging with neighbours of the same sort; the first unit of the whole. */
uint32_t hak_span_merge_locked(uint32_t first, size_t units, enum hak_unit_kind kind);

/* Counts one, with the lock held: nobody else writes this counter. */
static inline void hak_span_count(enum hak_counter_id id) {
  uint64_t *cell = &g_counter[id];
  hak_store(cell, hak_load(cell) + 1);
  hak_count_shown(id, 1);
}

#endif
