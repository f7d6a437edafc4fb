/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runs_purge.c: releases free runs to the kernel.
 *
 * what      Dirty runs lose their pages, oldest first, whole huge pages before parts of them, and dirty stretches of
 *           pages, shortest first, in batches: detached from the queue or bin, purged without the lock, attached as
 *           clean runs or stretches. Clean runs are unmapped: beyond a share of the mapped memory, the longest first,
 *           after a trim or in a long idle phase; all of at least 1 MiB when the kernel has no more addresses.
 *
 *               queue: oldest ... ---detach up to 64---> [purge, one kernel call] ---attach---> clean
 *
 * owner     g_runs.
 * locks     g_runs.lock, not held while runs are purged or unmapped.
 * orders    See runs.h. A detached run is in no bin: a fork meanwhile leaks the run in the child.
 * failure   A run that the kernel refuses to purge is halved and tried again, as a single page may be locked. Parts
 *           refused again are dirty as before, and count as young.
 * not here  When to release: reclaim/release.c.
 */
#include "base/config.h"
#include "os/os.h"
#include "runs/pages.h"
#include "runs/region.h"
#include "runs/stretch.h"
#include "tables/hold.h"
#include "tables/state.h"

enum {
  BATCH = HAK_OS_EXTENTS,
  UNMAP_UNITS = 16,
  HYSTERESIS = 4,
  PART_CALLS = 63, /* per batch, for halves of refused runs: two per halving if one page is locked */
  HALVINGS = 32    /* of the longest possible run */
};

struct batch {
  size_t n;
  struct hak_extent extent[BATCH];
};

static size_t length_bytes(uint32_t first) { return (size_t)hak_range_entry(first)->length << HAK_UNIT_SHIFT; }

static void detach_into_locked(struct batch *batch, uint32_t first, uint32_t at, size_t units) {
  hak_runs_detach_locked(first, at, units);
  batch->extent[batch->n++] = (struct hak_extent){hak_range_address(at), units << HAK_UNIT_SHIFT};
}

/* The start of the huge page around `at`, if all of it lies in the run [first, end): it costs less to go as a whole. */
static uint32_t widened(uint32_t first, uint32_t at, uint32_t end) {
  uint32_t start = hak_region_whole_end(at);
  return start >= first && hak_region_whole_start(at) <= end ? start : at;
}

/* Detaches up to `most` bytes, rounded up to whole units, from the end of the run. */
static void detach_end_into_locked(struct batch *batch, uint32_t first, uint64_t most) {
  size_t length = hak_range_entry(first)->length;
  uint32_t end = first + (uint32_t)length;
  size_t units = hak_min(length, (most + HAK_UNIT_BYTES - 1) >> HAK_UNIT_SHIFT);
  uint32_t at = end - (uint32_t)units, wider = widened(first, at, end);
  uint64_t stays = hak_less(hak_runs_dirty_bytes(), (uint64_t)(end - wider) << HAK_UNIT_SHIFT);
  if (stays >= hak_load(&g_hold_floor)) at = wider;
  detach_into_locked(batch, first, at, end - at);
}

/* Detaches up to `most` bytes from the end of the run, whole huge pages only. Returns the bytes of huge pages that stay
 * for that: parts, and one whole where less than its bytes are to go. */
static uint64_t detach_whole_into_locked(struct batch *batch, uint32_t first, uint64_t most) {
  uint32_t length = hak_range_entry(first)->length, from = hak_region_whole_start(first);
  uint32_t to = hak_region_whole_end(first + length);
  if (from >= to) return (uint64_t)length << HAK_UNIT_SHIFT;
  size_t units = hak_min(to - from, (most + HAK_UNIT_BYTES - 1) >> HAK_UNIT_SHIFT);
  uint32_t at = hak_region_whole_start(to - (uint32_t)units), left = at - (to - (uint32_t)units);
  if (at < to) detach_into_locked(batch, first, at, to - at);
  return (uint64_t)(length - (to - from) + left) << HAK_UNIT_SHIFT;
}

/* False: no stretch of pages is dirty. */
static bool detach_pages_into_locked(struct batch *batch, uint64_t most) {
  struct hak_extent x = hak_pages_detach_locked(most);
  if (x.bytes == 0) return false;
  batch->extent[batch->n++] = x;
  return true;
}

/* While more than `keep` bytes are dirty, detaches the excess only: the oldest runs, then the shortest stretches of
 * pages, as fewest requests fit these. */
static void take_any_locked(struct batch *batch, uint64_t keep) {
  while (batch->n < BATCH && hak_runs_dirty_bytes() > keep) {
    uint64_t excess = hak_runs_dirty_bytes() - keep;
    if (g_runs.oldest != HAK_NO_UNIT) detach_end_into_locked(batch, g_runs.oldest, excess);
    else if (!detach_pages_into_locked(batch, excess)) return;
  }
}

/* The same, but tears no huge page of a run: looks at the oldest runs. Returns the bytes in huge pages that stay. */
static uint64_t take_whole_locked(struct batch *batch, uint64_t keep) {
  enum { LOOKS = 128 };
  uint64_t parts = 0;
  uint32_t first = g_runs.oldest, newer;
  for (unsigned n = 0; n < LOOKS && first != HAK_NO_UNIT && batch->n < BATCH; n++, first = newer) {
    uint64_t dirty = hak_runs_dirty_bytes();
    if (dirty <= keep) break;
    newer = hak_range_entry(first)->newer;
    parts += detach_whole_into_locked(batch, first, dirty - keep);
  }
  return parts;
}

static void take_stretches_locked(struct batch *batch, uint64_t keep) {
  bool any = true;
  while (any && batch->n < BATCH && hak_runs_dirty_bytes() > keep) {
    any = detach_pages_into_locked(batch, hak_runs_dirty_bytes() - keep);
  }
}

/* Whole huge pages go before parts: one call frees 512 pages for the price of a few, and a part costs a split. Parts go
 * beyond `torn` bytes more than `keep`. */
static void take_batch_locked(struct batch *batch, uint64_t keep, uint64_t torn) {
  batch->n = 0;
  uint64_t parts = hak_min(take_whole_locked(batch, keep), torn);
  if (hak_less(hak_runs_dirty_bytes(), keep) > parts) take_stretches_locked(batch, keep + parts);
  if (hak_less(hak_runs_dirty_bytes(), keep) > torn) take_any_locked(batch, keep + torn / 2);
  parts = hak_min(parts, hak_less(hak_runs_dirty_bytes(), keep));
  g_runs.parts = parts == 0 ? 0 : hak_min(parts + HAK_RUNS_PARTS_STEP, torn);
}

/* Purges the batch's pieces, and splits the huge pages that lose a part: some 0.2 ms each. Returns a bit for each piece
 * that went. */
static uint64_t purge_all(const struct batch *batch) {
  for (size_t i = 0; i < batch->n; i++) {
    const char *p = batch->extent[i].address;
    uint32_t first = (uint32_t)hak_range_unit_of(p), last = (uint32_t)hak_range_unit_of(p + batch->extent[i].bytes - 1);
    hak_region_break(first, last - first + 1);
    if (HAK_SECURE) hak_state_purge(p, batch->extent[i].bytes);
  }
  return batch->n != 0 ? hak_os_purge_many(batch->extent, batch->n) : 0;
}

/* Attaches a detached piece: clean if the purge was `ok`, dirty if not. Returns the bytes purged. */
static size_t finish_locked(struct hak_extent x, bool ok) {
  uint32_t first = (uint32_t)hak_range_unit_of(x.address);
  if (hak_range_entry(first)->kind == HAK_UNIT_PAGED) return hak_pages_attach_locked(x, ok), ok ? x.bytes : 0;
  first = hak_runs_attach_locked(first, x.bytes >> HAK_UNIT_SHIFT, ok ? HAK_UNIT_CLEAN : HAK_UNIT_DIRTY);
  if (ok) hak_region_cleaned(first, hak_range_entry(first)->length);
  return ok ? x.bytes : 0;
}

/* A stack of ends: of the piece tried next (last), and of the pieces that enclose it. */
struct ends {
  unsigned n;
  uint32_t page[HALVINGS];
};

static struct hak_extent pages_between(uint32_t first, uint32_t end) {
  return (struct hak_extent){hak_page_address(first), (end - first) * HAK_PAGE_BYTES};
}

/* Attaches the refused part [kept, gone) and the purged part [gone, end). Returns the bytes purged. */
static size_t finish_part(uint32_t kept, uint32_t gone, uint32_t end) {
  struct hak_extent stayed = pages_between(kept, gone), went = pages_between(gone, end);
  size_t bytes = 0;
  hak_runs_lock();
  if (stayed.bytes != 0) finish_locked(stayed, false), hak_rent_refused();
  if (went.bytes != 0) bytes = finish_locked(went, true);
  hak_runs_unlock();
  return bytes;
}

static bool purge(uint32_t first, uint32_t end, unsigned *calls) {
  struct hak_extent x = pages_between(first, end);
  if (*calls == 0) return false;
  --*calls;
  return hak_os_purge(x.address, x.bytes);
}

/* Half of the pages, in whole units: neither half is shorter than a unit. */
static uint32_t rounded_half(uint32_t pages) {
  return (pages / HAK_UNIT_PAGES + 1) / 2 * HAK_UNIT_PAGES;
}

/* Purges a refused extent by halves, down to a unit, and attaches all parts. Returns the bytes purged. Iterative, as
 * the thread's stack may be small. */
static size_t flush_refused(struct hak_extent x, unsigned *calls) {
  uint32_t at = hak_page_of(x.address), kept = at;
  struct ends ends = {.n = 1};
  ends.page[0] = at + (uint32_t)(x.bytes >> HAK_PAGE_SHIFT);
  size_t gone = 0;
  for (bool refused = true; ends.n != 0; refused = false) {
    uint32_t end = ends.page[ends.n - 1];
    bool went = !refused && purge(at, end, calls);
    if (!went && end - at >= 2 * HAK_UNIT_PAGES && *calls != 0) {
      ends.page[ends.n++] = at + rounded_half(end - at);
      continue;
    }
    if (went) gone += finish_part(kept, at, end), kept = end;
    at = end;
    ends.n--;
  }
  return gone + finish_part(kept, at, at);
}

/* Purges the batch's runs. Returns the bytes purged. */
static size_t flush_batch(const struct batch *batch) {
  size_t gone = 0;
  unsigned calls = PART_CALLS;
  if (batch->n == 0) return 0;
  uint64_t done = purge_all(batch);
  hak_runs_lock();
  for (size_t i = 0; i < batch->n; i++) gone += done >> i & 1 ? finish_locked(batch->extent[i], true) : 0;
  hak_runs_unlock();
  for (size_t i = 0; i < batch->n; i++) gone += done >> i & 1 ? 0 : flush_refused(batch->extent[i], &calls);
  hak_count(HAK_COUNTER_release_flushed, (uint64_t)__builtin_popcountll(done));
  hak_count(HAK_COUNTER_release_bytes, gone);
  return gone;
}

/* Purges stretches that are shorter than a block while more than `keep` bytes are dirty. Under the lock: the blocks on
 * both sides may be freed at any time. Returns the bytes purged. */
static size_t purge_short(struct batch *batch, uint64_t keep) {
  size_t gone = 0;
  hak_runs_lock();
  batch->n = hak_runs_dirty_bytes() > keep ? hak_pages_short_locked(batch->extent, BATCH) : 0;
  uint64_t done = purge_all(batch);
  for (size_t i = 0; i < batch->n; i++) {
    if (done >> i & 1) hak_pages_cleaned_locked(batch->extent[i]), gone += batch->extent[i].bytes;
  }
  hak_runs_unlock();
  return gone;
}

/* Purges the batch; without success, short stretches: a longer stretch with a locked page may stay in the batch. */
static size_t purge_batch(struct batch *batch, uint64_t keep) {
  size_t gone = flush_batch(batch);
  return gone != 0 ? gone : purge_short(batch, keep);
}

/* Beyond the keep limit, purges a fourth of the limit more: few large batches instead of many small batches. */
size_t hak_runs_age(uint64_t torn) {
  struct batch batch;
  hak_runs_lock();
  hak_runs_set_rent_locked();
  hak_watermark_note(&g_runs.level, g_runs.level.live, hak_load(&g_rent.now_ms));
  uint64_t keep = hak_runs_publish_stay_locked();
  take_batch_locked(&batch, hak_runs_dirty_bytes() > keep ? keep - keep / HYSTERESIS : keep, torn);
  keep += g_runs.parts;
  hak_runs_unlock();
  return purge_batch(&batch, keep);
}

size_t hak_runs_purge(size_t keep) {
  struct batch batch;
  size_t purged = 0, gone;
  do {
    hak_runs_lock();
    take_batch_locked(&batch, keep, 0);
    hak_runs_unlock();
    purged += gone = purge_batch(&batch, keep);
  } while (gone != 0); /* a refused run counts as young: every other run was tried before */
  return purged;
}

/* Detaches one clean run of at least UNMAP_UNITS; no bytes: none is left. */
static struct hak_extent take_clean(void) {
  struct hak_extent x = {NULL, 0};
  hak_runs_lock();
  uint32_t first = hak_runs_fit_locked(HAK_UNIT_CLEAN, UNMAP_UNITS);
  if (first != HAK_NO_UNIT) {
    x = (struct hak_extent){hak_range_address(first), length_bytes(first)};
    hak_runs_detach_locked(first, first, hak_range_entry(first)->length);
  }
  hak_runs_unlock();
  return x;
}

static size_t unmap_extent(struct hak_extent x) {
  bool ok = hak_os_unmap(x.address, x.bytes);
  uint32_t first = (uint32_t)hak_range_unit_of(x.address);
  hak_runs_lock();
  if (ok) hak_store(&g_range.mapped, g_range.mapped - x.bytes);
  if (ok) hak_region_gone(first, x.bytes >> HAK_UNIT_SHIFT);
  hak_runs_attach_locked(first, x.bytes >> HAK_UNIT_SHIFT, ok ? HAK_UNIT_UNMAPPED : HAK_UNIT_CLEAN);
  hak_runs_unlock();
  return ok ? x.bytes : 0;
}

size_t hak_runs_unmap(void) {
  size_t sum = 0, gone;
  hak_pages_return_all();
  do {
    struct hak_extent x = take_clean();
    gone = x.bytes == 0 ? 0 : unmap_extent(x);
    sum += gone;
  } while (gone != 0);
  return sum;
}

/* ---- addresses beyond a share ---- */

static uint64_t clean_units_locked(void) { return g_runs.units[0]; }

/* Clean units beyond 2 MiB + 1/8 of all other mapped units. */
static uint64_t excess_units_locked(void) {
  enum { PART = 8, LEAST = 32 };
  uint64_t clean = clean_units_locked(), mapped = g_range.mapped >> HAK_UNIT_SHIFT;
  uint64_t stays = (mapped - hak_min(clean, mapped)) / PART + LEAST;
  return clean - hak_min(clean, stays);
}

/* Each unmapped run may split a mapping; the kernel allows a process 65,530 mappings by default. */
static bool are_many_gone_locked(void) {
  enum { MOST = 512 };
  size_t runs = 0;
  for (unsigned b = 0; b < HAK_RUNS_BINS && runs < MOST; b++) {
    uint32_t at = g_runs_unmapped.first[b];
    for (; at != HAK_NO_UNIT && runs < MOST; at = hak_range_entry(at)->next) runs++;
  }
  return runs == MOST;
}

/* Detaches the excess, or as much of the excess as the longest clean run holds, from the run's end. No bytes: no
 * excess, or all clean runs are shorter than LEAST units. With a hundredth of the one-unit blocks live, 97 of 100 runs
 * between live blocks are long enough. */
static struct hak_extent take_excess(void) {
  enum { LEAST = 4 };
  struct hak_extent x = {NULL, 0};
  hak_runs_lock();
  uint64_t excess = excess_units_locked();
  uint32_t first = excess >= LEAST ? hak_runs_longest_locked(HAK_UNIT_CLEAN, LEAST) : HAK_NO_UNIT;
  if (first != HAK_NO_UNIT && !are_many_gone_locked()) {
    size_t units = hak_min(hak_range_entry(first)->length, excess);
    uint32_t at = first + (uint32_t)(hak_range_entry(first)->length - units);
    hak_runs_detach_locked(first, at, units);
    x = (struct hak_extent){hak_range_address(at), units << HAK_UNIT_SHIFT};
  }
  hak_runs_unlock();
  return x;
}

size_t hak_runs_unmap_excess(void) {
  size_t sum = 0, gone;
  hak_pages_return_all();
  do {
    struct hak_extent x = take_excess();
    gone = x.bytes == 0 ? 0 : unmap_extent(x);
    sum += gone;
  } while (gone != 0);
  return sum;
}

bool hak_runs_hold(void) {
  if (hak_lock_is_mine(&g_runs.lock)) return false;
  hak_runs_lock();
  return true;
}

void hak_runs_let_go(void) { hak_runs_unlock(); }

uint64_t hak_runs_misfit(void) {
  hak_runs_lock();
  uint64_t misfit = g_runs.level.misfit;
  hak_runs_unlock();
  return misfit;
}

void hak_runs_forget_detached(void) {
  hak_runs_lock();
  hak_runs_leak_detached_locked();
  g_runs.opening = 0;
  hak_runs_unlock();
}

bool hak_runs_any_detached(void) { return hak_load(&g_runs.detached) != 0; }

void hak_runs_bytes(uint64_t *dirty, uint64_t *clean) {
  hak_runs_lock();
  *dirty = hak_runs_dirty_bytes();
  *clean = hak_runs_clean_bytes();
  hak_runs_unlock();
}
