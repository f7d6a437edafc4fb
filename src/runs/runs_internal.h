/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runs_internal.h: shared by runs.c, pages.c, stretch.c and runs_purge.c.
 *
 * what      The bins, the queue of dirty runs by age, and the steps under the lock.
 * owner     g_runs and g_runs_unmapped (in runs.c), g_pages (in stretch.c).
 * locks     g_runs.lock.
 * not here  The interfaces for other modules: runs.h, pages.h.
 */
#ifndef HAK_RUNS_RUNS_INTERNAL_H
#define HAK_RUNS_RUNS_INTERNAL_H

#include "os/lock.h"
#include "os/os.h"
#include "retain/footprint.h"
#include "retain/huge.h"
#include "retain/rent.h"
#include "runs/region.h"
#include "runs/runs.h"
#include "tables/counters.h"

enum { HAK_RUNS_BINS = 256, HAK_RUNS_WORDS = HAK_RUNS_BINS / 64, HAK_RUNS_SORTS = 3 };

struct hak_runs_bins {
  uint64_t filled[HAK_RUNS_WORDS];
  uint32_t first[HAK_RUNS_BINS];
};

struct hak_runs_state {
  struct hak_lock lock;
  uint32_t oldest, youngest;                   /* ends of the queue of dirty runs */
  uint64_t free_pages, dirty_pages;            /* of all stretches (pages.h); of these, pages that may hold data */
  uint64_t detached;                           /* free pages being purged or unmapped without the lock */
  uint64_t leaked;                             /* pages that were detached when the process forked */
  struct hak_watermark level;                      /* bytes of runs in use */
  uint64_t unfit;                              /* dirty bytes at the last misfit */
  uint64_t unclocked;                          /* pages freed since the clock was last read */
  uint64_t used_end;                           /* units from here on never had pages */
  uint32_t opening;                            /* regions opened and not yet fetched */
  uint64_t parts;                              /* [bytes] beyond the keep limit that wait in parts of huge pages */
  uint64_t opened_ms;                          /* when a region was last fetched as a huge page; 0: never */
  uint64_t units[HAK_RUNS_SORTS];              /* clean, dirty, unmapped: in the order of enum hak_unit_kind */
  struct hak_runs_bins clean, dirty;
};
extern HAK_HIDDEN struct hak_runs_state g_runs;

/* Apart from g_runs: a small process has no unmapped runs, and no page for these bins. */
extern HAK_HIDDEN struct hak_runs_bins g_runs_unmapped;

enum { HAK_PAGES_BINS = 128, HAK_PAGES_WORDS = HAK_PAGES_BINS / 64 };

/* Stretches of free pages (pages.h). */
struct hak_pages_bins {
  uint64_t filled[HAK_PAGES_WORDS];
  uint32_t first[HAK_PAGES_BINS]; /* halves of units */
};
struct hak_pages_state {
  struct hak_pages_bins sort[2];  /* clean, dirty */
};
extern HAK_HIDDEN struct hak_pages_state g_pages;

/* After a fork while another thread was inside: rebuilds bins and queue from the unit table. */
void hak_runs_rebuild(void);
void hak_pages_rebuild_locked(void);

static inline void hak_runs_lock(void) {
  if (HAK_UNLIKELY(hak_lock_take(&g_runs.lock))) hak_runs_rebuild();
}

/* When memory is fetched, and before the keep limit is computed: price and mode may have changed. */
static inline void hak_runs_set_rent_locked(void) {
  hak_watermark_learn(&g_runs.level, HAK_KIND_RUNS, hak_rent_kinds_learn());
  hak_watermark_set_rent(&g_runs.level, hak_rent_piece_ms());
}

static inline uint64_t hak_runs_dirty_bytes(void) {
  uint64_t units = g_runs.units[HAK_UNIT_DIRTY - HAK_UNIT_CLEAN];
  return (units << HAK_UNIT_SHIFT) + (g_runs.dirty_pages << HAK_PAGE_SHIFT);
}

static inline uint64_t hak_runs_clean_bytes(void) {
  return (g_runs.units[0] << HAK_UNIT_SHIFT) + ((g_runs.free_pages - g_runs.dirty_pages) << HAK_PAGE_SHIFT);
}

static inline void hak_runs_leak_detached_locked(void) {
  g_runs.leaked += g_runs.detached;
  g_runs.detached = 0;
}

/* Pages are attached again. Those of a thread that forked itself meanwhile count as leaked. */
static inline void hak_runs_count_attached_locked(uint64_t pages) {
  uint64_t known = hak_min(pages, g_runs.detached);
  g_runs.detached -= known;
  g_runs.leaked -= hak_min(pages - known, g_runs.leaked);
}

/* Publishes how many bytes may hold pages, and notes the bytes in use. */
static inline void hak_runs_publish_locked(void) {
  uint64_t unused = hak_runs_clean_bytes() + (g_runs.leaked << HAK_PAGE_SHIFT), dirty = hak_runs_dirty_bytes();
  uint64_t span = hak_less(g_range.mapped, unused);
  uint64_t free = dirty + (g_runs.detached << HAK_PAGE_SHIFT);
  hak_watermark_note(&g_runs.level, span - hak_min(free, span), hak_load(&g_rent.now_ms));
  hak_store(&g_footprint.span, span);
  hak_store(&g_footprint.dirty, dirty);
}

/* Notes a misfit: `bytes` are fetched, although as many dirty bytes may be free. */
static inline void hak_runs_note_misfit_locked(uint64_t bytes) {
  g_runs.unfit = hak_runs_dirty_bytes();
  hak_watermark_note_misfit(&g_runs.level, hak_min(bytes, g_runs.unfit));
}

/* [bytes] The rest of a region that was fetched as a huge page stays for T, so that runs in use can fill the rest. */
static inline uint64_t hak_runs_ahead_locked(void) {
  if (HAK_LIKELY(g_runs.opened_ms == 0) || hak_load(&g_rent.pressure) != 0) return 0;
  bool waits = hak_less(hak_load(&g_rent.now_ms), g_runs.opened_ms) < hak_rent_piece_ms();
  if (!waits) g_runs.opened_ms = 0;
  return waits ? hak_os_huge_bytes() : 0;
}

/* [bytes] More parts of huge pages until whole ones are looked for again: a huge page is 4 steps. */
enum { HAK_RUNS_PARTS_STEP = 512 << 10 };

/* Publishes how many bytes of dirty runs may stay, and how many of them are spare: after a misfit within T, only the
 * bytes beyond eight times the misfit's free memory, as blocks in magazines never merge. Returns the first number, at
 * least the rest of a region: the background thread comes for a rest, too. */
static inline uint64_t hak_runs_publish_stay_locked(void) {
  uint64_t ahead = hak_runs_ahead_locked(), stay = hak_rent_keep_limit(&g_runs.level, 0);
  hak_store(&g_footprint.ahead, ahead);
  g_runs.parts = hak_min(g_runs.parts, hak_less(hak_runs_dirty_bytes(), stay) + HAK_RUNS_PARTS_STEP);
  hak_store(&g_footprint.may_idle, stay + hak_min(g_runs.parts, UINT64_MAX - stay));
  hak_store(&g_footprint.spare, g_runs.level.misfit == 0 ? stay : hak_less(stay, 8 * g_runs.unfit));
  return hak_max(stay, ahead);
}

static inline void hak_runs_unlock(void) {
  hak_runs_publish_locked();
  hak_lock_drop(&g_runs.lock);
}

static inline void hak_runs_unlock_after_put(void) {
  hak_runs_publish_locked();
  hak_runs_publish_stay_locked();
  hak_lock_drop(&g_runs.lock);
}

/* A free run of this sort and of at least `units` units, the best fitting bin first; HAK_NO_UNIT if none. */
uint32_t hak_runs_fit_locked(enum hak_unit_kind kind, size_t units);

/* A free run of this sort from the bin of the longest, if the run has `units` units; HAK_NO_UNIT if not. Shorter runs
 * are left to short-lived blocks. */
uint32_t hak_runs_longest_locked(enum hak_unit_kind kind, size_t units);

/* detach: takes the units [at, at + units) of the free run that begins at `first` out of bins and queue, so that their
 * pages can be purged without the lock. A fork meanwhile leaks the units in the child.
 * attach: makes detached units a free run again. */
void hak_runs_detach_locked(uint32_t first, uint32_t at, size_t units);
uint32_t hak_runs_attach_locked(uint32_t first, size_t units, enum hak_unit_kind kind);

/* Cuts `need` to *units units out of a free run, for paged units; *units: the number. They are tails of no run.
 * *clean in: units without pages will do; out: the units have no pages. HAK_NO_UNIT: no such run, or no memory. */
uint32_t hak_runs_cut_locked(size_t need, size_t *units, bool *clean);

/* The same for `units` units at the front of the free run that begins at `first`, if there is one. */
bool hak_runs_cut_at_locked(uint32_t first, size_t units, bool *clean);

/* Takes the shortest dirty stretch with a unit's pages, or about `most` bytes of its end, out of the bins; if there is
 * none, the shortest with a block's pages; no bytes: none. attach: makes detached pages free again; the units inside a
 * clean stretch become clean runs. */
struct hak_extent hak_pages_detach_locked(uint64_t most);
void hak_pages_attach_locked(struct hak_extent x, bool clean);

/* Gives the units inside the best fitting dirty stretch with room for `units` units back to runs.c. Returns the merged
 * run; HAK_NO_UNIT: no such stretch. */
uint32_t hak_pages_yield_locked(size_t units);

/* Lists dirty stretches that are shorter than a block, at most `most`; returns the number. cleaned: one of them was
 * purged, under the lock. */
size_t hak_pages_short_locked(struct hak_extent *list, size_t most);
void hak_pages_cleaned_locked(struct hak_extent x);

/* Reads the clock once per MiB freed: the clock may have no reader for long, and a reuse must not count for ever. */
static inline void hak_runs_pass_time_locked(size_t pages) {
  enum { CLOCK_PAGES = 256 };
  g_runs.unclocked += pages;
  if (HAK_LIKELY(g_runs.unclocked < CLOCK_PAGES)) return;
  g_runs.unclocked = 0;
  hak_store(&g_rent.now_ms, hak_os_now_ms());
}

/* Frees [first, first + units) and merges neighbours of the same sort. Returns the first unit of the merged run. */
uint32_t hak_runs_merge_locked(uint32_t first, size_t units, enum hak_unit_kind kind);

/* Units of a clean run are about to be used. opened: the last ones, in a region that was opened. */
static inline void hak_runs_use_clean_locked(uint32_t first, size_t units, size_t opened) {
  if (!HAK_SECURE || units != opened) hak_region_used(first, units - opened);
  g_runs.used_end = hak_max(g_runs.used_end, first + units);
}

/* A slab is about to use the units [at, at + units), just cut out of a clean run. If they begin a region whose rest is
 * clean too, and a huge page pays (retain/huge.h): advises one for the region, and detaches the rest until
 * hak_runs_fetch_opened. Returns how many of the units, the last ones, lie in that region. */
size_t hak_runs_open_now_locked(uint32_t at, size_t units, struct hak_opened *out);
static inline size_t hak_runs_open_locked(uint32_t at, size_t units, struct hak_opened *out) {
  return HAK_UNLIKELY(hak_huge_fit()) ? hak_runs_open_now_locked(at, units, out) : 0;
}


/* Adds 1. Lock: g_runs.lock held, the only writers of this counter. */
static inline void hak_runs_count(enum hak_counter_id id) {
  uint64_t *cell = &g_counter[id];
  hak_store(cell, hak_load(cell) + 1);
  hak_count_shown(id, 1);
}

#endif
