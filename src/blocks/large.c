/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* large.c: blocks of pages, and blocks that are runs of units.
 *
 * what      Rounds requests to pages or units, takes and frees them, and keeps sites. See large.h.
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
#include "runs/pages.h"
#include "runs/region.h"
#include "runs/runs.h"
#include "tables/classes.h"
#include "tables/range.h"
#include "tables/site.h"

static struct {
  uint64_t bytes; /* of all blocks */
} g_large;

static size_t units_of_bytes(size_t n) { return hak_round_up(n, HAK_UNIT_BYTES) >> HAK_UNIT_SHIFT; }

/* Whole pages of the kernel, which are no shorter than HAK_PAGE_BYTES, and more than half a unit has. */
static size_t pages_for(size_t n) {
  size_t page = hak_os_page_bytes(), least = page > HAK_PAGE_BYTES ? HAK_UNIT_PAGES : HAK_PAGES_LEAST;
  return hak_max(hak_round_up(n, page) >> HAK_PAGE_SHIFT, least);
}

static bool is_in_pages(size_t n, size_t align) { return n <= HAK_PAGED_MAX && align <= HAK_UNIT_BYTES; }

static bool lies_in_pages(uint32_t unit) { return hak_load_acquire(&hak_range_entry(unit)->kind) == HAK_UNIT_PAGED; }

/* ---- sites: a block's origin is its site and the time of its allocation ---- */

enum { SITE_BITS = 16 };

static uint64_t origin_of_site(unsigned site) {
  return site != 0 ? hak_load(&g_rent.now_ms) << SITE_BITS | site : 0;
}

static uint64_t origin_now(uint32_t unit, const void *p) {
  return lies_in_pages(unit) ? hak_pages_origin(p) : hak_load(&hak_range_entry(unit)->origin);
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

/* ---- blocks of units ---- */

static void *alloc_units(size_t units, size_t align, unsigned site, bool *zero) {
  size_t align_units = align <= HAK_UNIT_BYTES ? 1 : align >> HAK_UNIT_SHIFT;
  bool apart = site != 0 && hak_site_is_apart(site);
  uint32_t u = apart ? hak_runs_get_high(units, align_units, HAK_UNIT_LARGE, 0, zero)
                     : hak_runs_get(units, align_units, HAK_UNIT_LARGE, 0, zero, NULL);
  if (u == HAK_NO_UNIT) return NULL;
  hak_store(&hak_range_entry(u)->origin, origin_of_site(site));
  return hak_range_address(u);
}

static size_t unit_bytes(uint32_t unit) { return (size_t)hak_load(&hak_range_entry(unit)->length) << HAK_UNIT_SHIFT; }

static size_t free_units(uint32_t unit, uint64_t *origin) {
  *origin = hak_load(&hak_range_entry(unit)->origin);
  if (hak_load(&hak_range_entry(unit)->kind) != HAK_UNIT_LARGE) return 0;
  hak_region_freed(unit, unit_bytes(unit) >> HAK_UNIT_SHIFT);
  return hak_runs_put(unit); /* 0 if a concurrent free was faster */
}

/* A block that shrinks below HAK_PAGED_MAX becomes a block of pages. */
static bool resize_units(uint32_t unit, size_t n) {
  size_t have = hak_range_entry(unit)->length, want = units_of_bytes(n);
  if (want > have && !hak_runs_extend(unit, want - have)) return false;
  if (want < have) hak_region_freed(unit + (uint32_t)want, have - want);
  if (is_in_pages(n, 1)) hak_pages_adopt(unit, pages_for(n), hak_load(&hak_range_entry(unit)->origin));
  else if (want < have) hak_runs_shorten(unit, want);
  return true;
}

/* ---- any block ---- */

static void *alloc_pages(size_t bytes, size_t align, unsigned site, bool *zero) {
  size_t align_pages = hak_max(align, hak_os_page_bytes()) >> HAK_PAGE_SHIFT;
  return hak_pages_get(bytes >> HAK_PAGE_SHIFT, align_pages, origin_of_site(site), zero);
}

void *hak_large_alloc(size_t n, size_t align, unsigned site, bool *zero) {
  bool paged = is_in_pages(n, align);
  size_t bytes = paged ? pages_for(n) << HAK_PAGE_SHIFT : hak_round_up(n, HAK_UNIT_BYTES);
  *zero = false; /* prefer pages that are resident */
  void *p = paged ? alloc_pages(bytes, align, site, zero) : alloc_units(bytes >> HAK_UNIT_SHIFT, align, site, zero);
  if (p == NULL) return NULL;
  hak_add(&g_large.bytes, bytes);
  if (site != 0) note_taken(site, bytes, *zero);
  return p;
}

size_t hak_large_free(uint32_t unit, const void *p) {
  uint64_t origin;
  size_t bytes = 0;
  if (lies_in_pages(unit)) bytes = hak_pages_put(p, 0, &origin) << HAK_PAGE_SHIFT;
  else if (p == hak_range_address(unit)) bytes = free_units(unit, &origin);
  if (HAK_LIKELY(bytes != 0)) note_freed(origin, bytes);
  hak_sub(&g_large.bytes, bytes);
  return bytes;
}

size_t hak_large_bytes(uint32_t unit, const void *p) {
  if (lies_in_pages(unit)) return hak_pages_of(p) << HAK_PAGE_SHIFT;
  return p == hak_range_address(unit) ? unit_bytes(unit) : 0;
}

const void *hak_large_block_of(uint32_t unit, const void *p) {
  if (lies_in_pages(unit)) return hak_pages_block(p);
  return hak_load(&hak_range_entry(unit)->kind) == HAK_UNIT_LARGE ? hak_range_address(unit) : NULL;
}

/* True if n bytes fit and less than an eighth would be given up: a buffer that shrinks a little often grows again. */
static bool stays(size_t have, size_t n) { return n <= have && have - n <= n / 8; }

/* A block that grows gets an eighth more where there is room: a buffer that grew by a little often grows again. */
static bool resize_pages(const void *p, size_t have, size_t n) {
  size_t pages = pages_for(n), roomy = ((n + n / 8) & -hak_os_page_bytes()) >> HAK_PAGE_SHIFT;
  if (n > have && roomy > pages && hak_pages_resize(p, roomy)) return true;
  return hak_pages_resize(p, pages);
}

size_t hak_large_resize(uint32_t unit, const void *p, size_t have, size_t n) {
  if (stays(have, n)) return have;
  uint64_t origin = origin_now(unit, p);
  if (!(lies_in_pages(unit) ? resize_pages(p, have, n) : resize_units(unit, n))) return 0;
  size_t now = hak_large_bytes(unit, p);
  hak_add(&g_large.bytes, now - have);
  if (origin != 0) hak_site_resized((uint16_t)origin, have, now);
  return now;
}

void hak_large_tell(uint32_t unit, const void *p, unsigned site) {
  if (site == 0 || origin_now(unit, p) != 0) return;
  if (lies_in_pages(unit)) hak_pages_set_origin(p, origin_of_site(site));
  else hak_store(&hak_range_entry(unit)->origin, origin_of_site(site));
  hak_site_taken(site, hak_large_bytes(unit, p));
}

unsigned hak_large_site(uint32_t unit, const void *p) { return (uint16_t)origin_now(unit, p); }

uint64_t hak_large_handed_out(void) { return hak_load(&g_large.bytes); }

/* ---- run classes ---- */

unsigned hak_large_class(const void *p) {
  size_t unit = hak_range_unit_of(p);
  return hak_range_has_entry(unit) && lies_in_pages((uint32_t)unit) ? hak_pages_class(p) : 0;
}

size_t hak_large_fill(unsigned c, void **out, size_t want) {
  size_t n = hak_pages_fill(pages_for(g_class[c].bytes), out, want);
  hak_add(&g_large.bytes, n * (pages_for(g_class[c].bytes) << HAK_PAGE_SHIFT));
  return n;
}

void hak_large_put(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault) {
  hak_sub(&g_large.bytes, hak_pages_put_some(c, blocks, n, fault) << HAK_PAGE_SHIFT);
}

void hak_large_check(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault) {
  for (size_t i = 0; i < n; i++) {
    enum hak_error error = hak_pages_judge(c, blocks[i]);
    bool first = error != HAK_ERROR_none && fault->error == HAK_ERROR_none;
    if (HAK_UNLIKELY(first)) *fault = (struct hak_fault){error, blocks[i]};
  }
}
