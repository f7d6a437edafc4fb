/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stretch.h: free pages of paged units: shared by pages.c, stretch.c and runs_purge.c.
 *
 * what      A stretch is a maximal row of free pages in paged units (pages.h). Stretches come in two sorts, dirty (some
 *           page may hold data) and clean; each sort has bins by length, exact below 64 pages, then 16 per doubling.
 *           A page has a number, 16 * unit + its place in the unit, and so has a half of a unit, page / 8. A stretch is
 *           known by the half in which it begins.
 *
 *               stretch   pages << 4 | dirty << 3 | place in the half        block   pages << 3 | place in the half
 *
 *           The half in which a stretch ends has the half of its beginning in its link, unless both are one. No other
 *           stretch begins there: between two stretches lie at least 9 used pages, a block or pages being purged.
 * owner     g_pages (in stretch.c).
 * locks     g_runs.lock.
 * not here  Blocks: pages.h.
 */
#ifndef HAK_RUNS_STRETCH_H
#define HAK_RUNS_STRETCH_H

#include "runs/runs_internal.h"

enum { HAK_NO_HALF = 0, HAK_PLACE_BITS = 3, HAK_PLACE = HAK_HALF_PAGES - 1, HAK_STRETCH_DIRTY = 1 << HAK_PLACE_BITS };

HAK_INLINE uint32_t hak_page_of(const void *p) { return (uint32_t)(((uintptr_t)p - g_range.base) >> HAK_PAGE_SHIFT); }
HAK_INLINE void *hak_page_address(uint32_t page) {
  return (void *)(g_range.base + ((uintptr_t)page << HAK_PAGE_SHIFT));
}
HAK_INLINE uint32_t hak_page_unit(uint32_t page) { return page / HAK_UNIT_PAGES; }
/* The first page from `page` on at a multiple of `align` pages. The range begins at a multiple of 2 MiB. */
HAK_INLINE uint32_t hak_page_aligned(uint32_t page, uint32_t align) { return (page + align - 1) & -align; }
HAK_INLINE uint32_t hak_page_half(uint32_t page) { return page / HAK_HALF_PAGES; }
HAK_INLINE struct hak_paged *hak_page_entry(uint32_t page) { return hak_range_paged(hak_page_unit(page)); }

/* True if the page lies in a paged unit. */
HAK_INLINE bool hak_page_is_cut(uint32_t page) {
  return hak_page_unit(page) < g_range.units && hak_page_entry(page)->kind == HAK_UNIT_PAGED;
}

struct hak_stretch {
  uint32_t page, pages;
  bool dirty;
};

HAK_INLINE uint32_t *hak_stretch_cell(uint32_t half) { return &hak_range_paged(half / 2)->stretch[half % 2]; }

HAK_INLINE struct hak_stretch hak_stretch_of(uint32_t half) {
  uint32_t s = *hak_stretch_cell(half);
  bool dirty = (s & HAK_STRETCH_DIRTY) != 0;
  return (struct hak_stretch){half * HAK_HALF_PAGES + (s & HAK_PLACE), s >> (HAK_PLACE_BITS + 1), dirty};
}

/* The pages of the stretch that begins at a page; 0: none begins there. */
HAK_INLINE uint32_t hak_stretch_at(uint32_t page) {
  uint32_t s = hak_page_is_cut(page) ? *hak_stretch_cell(hak_page_half(page)) : 0;
  return (s & HAK_PLACE) == page % HAK_HALF_PAGES ? s >> (HAK_PLACE_BITS + 1) : 0;
}

/* A stretch with room for `pages` pages at a multiple of `align` pages, in the order of pages.h; HAK_NO_HALF: no
 * memory. */
uint32_t hak_stretch_find_locked(uint32_t pages, uint32_t align);

/* True if the hard limit, if any, allows the clean pages among [page, page + pages), free pages, to come into use. */
bool hak_stretch_allows_locked(uint32_t page, uint32_t pages);

/* A dirty stretch of the shortest bin with room; HAK_NO_HALF: the bin is empty. */
uint32_t hak_stretch_like_locked(uint32_t pages);

/* Takes a stretch out of its bin. */
struct hak_stretch hak_stretch_withdraw_locked(uint32_t half);

/* Takes [page, page + pages) out of stretch s, which was withdrawn, and enters what is left of it. Returns how many of
 * the pages were dirty. */
uint32_t hak_stretch_cut_locked(struct hak_stretch s, uint32_t page, uint32_t pages);

/* Frees used pages. Units go back to runs.c where the stretch is long. */
void hak_stretch_put_locked(uint32_t page, uint32_t pages, bool dirty);

/* Makes short dirty runs on both sides of the paged units [first, first + units) free pages. */
void hak_stretch_absorb_locked(uint32_t first, size_t units);

/* Makes a unit paged, with all pages used and no block. */
void hak_stretch_cut_unit(uint32_t unit);

/* True if `more` free pages lie from `page` on, behind a block that then has `all` pages: a stretch, and at its end
 * units of a free run, which become paged. */
bool hak_stretch_reach_locked(uint32_t page, uint32_t more, uint32_t all);

/* In pages.c: writes the class-map byte of a paged unit. */
void hak_pages_name_locked(uint32_t unit);

#endif
