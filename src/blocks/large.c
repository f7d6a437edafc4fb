/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* large.c: blocks that are runs of units.
 *
 * what      Rounds requests to units, takes and frees runs, and sets the class-map byte of short runs. See large.h.
 * owner     g_large.
 * failure   NULL.
 * not here  Magazines: src/cache.
 */
#include "blocks/large.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "base/config.h"
#include "os/os.h"
#include "retain/rent.h"
#include "runs/region.h"
#include "runs/runs.h"
#include "tables/classes.h"
#include "tables/range.h"
#include "tables/site.h"

enum { BATCH = 16 };

static struct {
  uint64_t bytes; /* of all blocks */
} g_large;

static size_t units_for(size_t n) { return hak_round_up(n, HAK_UNIT_BYTES) >> HAK_UNIT_SHIFT; }

static unsigned class_for(size_t units) { return units <= HAK_RUN_CLASSES ? HAK_RUN_CLASS + (unsigned)units - 1 : 0; }

/* Writes the class-map byte of a run. A labelled block has no class, so that the free reaches hak_large_free. */
static void name(uint32_t unit, size_t units) {
  bool told = hak_load(&hak_range_entry(unit)->origin) != 0;
  hak_store(&g_range.map[unit], (uint8_t)(told ? 0 : class_for(units)));
}

/* ---- labels: site, and time taken ---- */

enum { SITE_BITS = 16 };

static void label(uint32_t unit, unsigned site) {
  uint64_t origin = site != 0 ? hak_load(&g_rent.now_ms) << SITE_BITS | site : 0;
  hak_store(&hak_range_entry(unit)->origin, origin);
}

static void note_taken(unsigned site, size_t bytes, bool clean) {
  hak_site_taken(site, bytes);
  if (clean) hak_site_fetched(site, bytes / hak_os_page_bytes());
  else hak_site_served(site);
}

static void note_freed(uint64_t origin, size_t bytes) {
  uint64_t now = hak_load(&g_rent.now_ms), taken = origin >> SITE_BITS;
  if (origin != 0) hak_site_freed((uint16_t)origin, bytes, now - hak_min(taken, now));
}

void *hak_large_alloc(size_t n, size_t align, unsigned site, bool *zero) {
  size_t units = units_for(n);
  size_t align_units = align <= HAK_UNIT_BYTES ? 1 : align >> HAK_UNIT_SHIFT;
  *zero = false; /* prefer pages that are resident */
  bool apart = site != 0 && hak_site_is_apart(site);
  uint32_t u = apart ? hak_runs_get_high(units, align_units, HAK_UNIT_LARGE, 0, zero)
                     : hak_runs_get(units, align_units, HAK_UNIT_LARGE, 0, zero);
  if (u == HAK_NO_UNIT) return NULL;
  hak_add(&g_large.bytes, units << HAK_UNIT_SHIFT);
  label(u, site);
  name(u, units);
  if (site != 0) note_taken(site, units << HAK_UNIT_SHIFT, *zero);
  return hak_range_address(u);
}

size_t hak_large_fill(unsigned c, void **out, size_t want) {
  uint32_t first[BATCH];
  size_t units = g_class[c].units, n = 1;
  bool zero = false;
  *first = hak_runs_get(units, 1, HAK_UNIT_LARGE, 0, &zero);
  if (*first == HAK_NO_UNIT) return 0;
  if (want > 1 && !zero) n = hak_runs_get_like(first, hak_min(want, BATCH));
  hak_add(&g_large.bytes, n * g_class[c].bytes);
  for (size_t i = 0; i < n; i++) {
    label(first[i], 0);
    name(first[i], units);
    out[n - 1 - i] = hak_range_address(first[i]); /* first[0] leaves the magazine first */
  }
  return n;
}

/* ---- back ---- */

/* The error of p, a pointer from a magazine of class c. */
static enum hak_error judge_run(unsigned c, const void *p) {
  if (HAK_UNLIKELY(hak_load(&g_range.map[hak_range_unit_of(p)]) != c)) return HAK_ERROR_released;
  return (uintptr_t)p % HAK_UNIT_BYTES != 0 ? HAK_ERROR_interior : HAK_ERROR_none;
}

/* Like judge_run; if p is right, also clears the class-map byte, which only the first of two frees can do. */
static enum hak_error claim(unsigned c, const void *p) {
  uint8_t seen = (uint8_t)c;
  enum hak_error error = judge_run(c, p);
  if (HAK_UNLIKELY(error != HAK_ERROR_none)) return error;
  return hak_cas_acquire(&g_range.map[hak_range_unit_of(p)], &seen, 0) ? HAK_ERROR_none : HAK_ERROR_released;
}

static void note_fault(struct hak_fault *fault, enum hak_error error, const void *p) {
  if (fault->error == HAK_ERROR_none) *fault = (struct hak_fault){error, p};
}

/* Puts n blocks, at most BATCH. */
static void put_some(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault) {
  uint32_t first[BATCH];
  size_t good = 0, bytes = 0;
  for (size_t i = 0; i < n; i++) {
    enum hak_error error = claim(c, blocks[i]);
    if (HAK_UNLIKELY(error != HAK_ERROR_none)) {
      note_fault(fault, error, blocks[i]);
      continue;
    }
    first[good] = (uint32_t)hak_range_unit_of(blocks[i]);
    bytes += hak_large_bytes(first[good++]);
  }
  hak_sub(&g_large.bytes, bytes);
  hak_runs_put_some(first, good);
}

void hak_large_put(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault) {
  for (size_t done = 0; done < n; done += BATCH) put_some(c, blocks + done, hak_min(n - done, BATCH), fault);
}

void hak_large_check(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault) {
  for (size_t i = 0; i < n; i++) {
    enum hak_error error = judge_run(c, blocks[i]);
    if (HAK_UNLIKELY(error != HAK_ERROR_none)) note_fault(fault, error, blocks[i]);
  }
}

size_t hak_large_free(uint32_t unit, const void *p) {
  if (p != hak_range_address(unit)) return 0;
  size_t bytes = hak_large_bytes(unit);
  bool large = hak_load(&hak_range_entry(unit)->kind) == HAK_UNIT_LARGE;
  uint64_t origin = hak_load(&hak_range_entry(unit)->origin);
  if (!large || (bytes <= HAK_RUN_MAX && origin == 0)) return 0; /* short, no label, and no class: freed already */
  hak_region_freed(unit, bytes >> HAK_UNIT_SHIFT);
  bytes = hak_runs_put(unit); /* 0 if a concurrent free was faster */
  if (HAK_LIKELY(bytes != 0)) note_freed(origin, bytes);
  hak_sub(&g_large.bytes, bytes);
  return bytes;
}

/* ---- the length ---- */

size_t hak_large_bytes(uint32_t unit) { return (size_t)hak_load(&hak_range_entry(unit)->length) << HAK_UNIT_SHIFT; }

static void resize_label(uint32_t unit, size_t from, size_t to) {
  uint64_t origin = hak_load(&hak_range_entry(unit)->origin);
  if (origin != 0) hak_site_resized((uint16_t)origin, from, to);
}

bool hak_large_resize(uint32_t unit, size_t n) {
  size_t have = hak_range_entry(unit)->length, want = units_for(n);
  if (want > have && !hak_runs_extend(unit, want - have)) return false;
  name(unit, want);
  if (want < have) hak_region_freed(unit + (uint32_t)want, have - want), hak_runs_shorten(unit, want);
  hak_add(&g_large.bytes, (want - have) << HAK_UNIT_SHIFT);
  resize_label(unit, have << HAK_UNIT_SHIFT, want << HAK_UNIT_SHIFT);
  return true;
}

void hak_large_tell(uint32_t unit, unsigned site) {
  if (site == 0 || hak_load(&hak_range_entry(unit)->origin) != 0) return;
  label(unit, site);
  name(unit, hak_range_entry(unit)->length);
  hak_site_taken(site, hak_large_bytes(unit));
}

uint64_t hak_large_handed_out(void) { return hak_load(&g_large.bytes); }
