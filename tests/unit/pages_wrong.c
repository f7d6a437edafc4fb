/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pages_wrong.c: the predicate of paged units.
 *
 * what      Walks every paged unit: bits, stretches, blocks, class map; then every bin; and compares the sums.
 * owner     Reads g_runs and g_pages; the test holds no lock, and no other thread runs.
 * failure   A text that says what is wrong; NULL: nothing.
 * not here  Tests: pages_test.cpp.
 */
#include "internal.h"
#include "runs/stretch.h"
#include "tables/classes.h"

struct seen {
  uint64_t free, dirty, stretches;
};

static bool is_free_page(uint32_t page) {
  return hak_page_is_cut(page) && hak_page_entry(page)->free >> page % HAK_UNIT_PAGES & 1;
}

static bool is_dirty_page(uint32_t page) { return hak_page_entry(page)->dirty >> page % HAK_UNIT_PAGES & 1; }

static uint32_t block_pages(uint32_t page) {
  uint16_t block = hak_page_entry(page)->block[hak_page_half(page) % 2];
  return block != 0 && (block & HAK_PLACE) == page % HAK_HALF_PAGES ? block >> HAK_PLACE_BITS : 0;
}

static const char *stretch_wrong(uint32_t page, uint32_t *end, struct seen *seen) {
  uint32_t pages = hak_stretch_at(page), dirty = 0, first = hak_page_half(page);
  for (*end = page; is_free_page(*end); ++*end) dirty += is_dirty_page(*end);
  if (pages != *end - page) return "a stretch has another length than its free pages";
  if (dirty != 0 && !hak_stretch_of(first).dirty) return "a clean stretch has a dirty page";
  uint32_t last = hak_page_half(*end - 1);
  if (last != first && hak_range_paged(last / 2)->link[last % 2].next != first) return "an end does not know its begin";
  *seen = (struct seen){seen->free + pages, seen->dirty + dirty, seen->stretches + 1};
  return NULL;
}

static const char *block_wrong(uint32_t page, uint32_t *end) {
  uint32_t pages = block_pages(page);
  if (pages < HAK_HALF_PAGES + 1) return "a used page is no block's";
  for (*end = page; *end < page + pages; ++*end) {
    if (!hak_page_is_cut(*end) || is_free_page(*end)) return "a block has a free page, or one of another unit";
    if (is_dirty_page(*end)) return "a used page counts as dirty";
    if (*end != page && block_pages(*end) != 0) return "a block begins inside another";
  }
  return NULL;
}

static unsigned class_at(uint32_t unit, unsigned half) {
  const struct hak_paged *e = hak_range_paged(unit);
  size_t pages = e->block[half] >> HAK_PLACE_BITS;
  return pages == 0 || pages > 64 || e->origin[half] != 0 ? 0 : hak_run_class_of_pages(pages);
}

static const char *unit_wrong(uint32_t unit) {
  const struct hak_paged *e = hak_range_paged(unit);
  unsigned low = class_at(unit, 0), high = class_at(unit, 1);
  unsigned named = e->block[0] == 0 ? high : e->block[1] == 0 || low == high ? low : 0;
  if (e->head != unit || e->length != 1) return "a paged unit is no run of its own";
  return g_range.map[unit] == named ? NULL : "the class map names another class than the blocks have";
}

static uint64_t listed(void) {
  uint64_t n = 0;
  for (unsigned b = 0; b < 2 * HAK_PAGES_BINS; b++) {
    uint32_t half = g_pages.sort[b / HAK_PAGES_BINS].first[b % HAK_PAGES_BINS];
    for (; half != HAK_NO_HALF; half = hak_range_paged(half / 2)->link[half % 2].next) n++;
  }
  return n;
}

static const char *bits_wrong(void) {
  for (unsigned b = 0; b < 2 * HAK_PAGES_BINS; b++) {
    const struct hak_pages_bins *bins = &g_pages.sort[b / HAK_PAGES_BINS];
    unsigned at = b % HAK_PAGES_BINS;
    bool bit = bins->filled[at / 64] >> at % 64 & 1;
    if (bit != (bins->first[at] != HAK_NO_HALF)) return "a bin's bit is wrong";
  }
  return NULL;
}

static const char *page_wrong(uint32_t page, uint32_t *end, struct seen *seen) {
  const char *wrong = page % HAK_UNIT_PAGES == 0 ? unit_wrong(hak_page_unit(page)) : NULL;
  if (wrong != NULL) return wrong;
  return is_free_page(page) ? stretch_wrong(page, end, seen) : block_wrong(page, end);
}

const char *hak_inside_pages_wrong(void) {
  struct seen seen = {0, 0, 0};
  uint32_t last = (uint32_t)g_range.units * HAK_UNIT_PAGES, end;
  for (uint32_t page = HAK_UNIT_PAGES; page < last; page = end) {
    end = page + 1;
    const char *wrong = hak_page_is_cut(page) ? page_wrong(page, &end, &seen) : NULL;
    if (wrong != NULL) return wrong;
  }
  for (uint32_t u = 1; u < g_range.units; u++) {
    const char *wrong = hak_page_is_cut(u * HAK_UNIT_PAGES) ? unit_wrong(u) : NULL;
    if (wrong != NULL) return wrong;
  }
  if (seen.free != g_runs.free_pages) return "the sum of free pages is wrong";
  if (seen.dirty != g_runs.dirty_pages) return "the sum of dirty pages is wrong";
  return listed() == seen.stretches ? bits_wrong() : "a stretch is in no bin";
}

/* As if a fork had interrupted a thread inside: all that a rebuild makes anew is overwritten. */
void hak_inside_pages_damage(void) {
  g_runs.free_pages = g_runs.dirty_pages = 7;
  for (unsigned b = 0; b < HAK_PAGES_BINS; b++) g_pages.sort[0].first[b] = g_pages.sort[1].first[b] = 7;
  for (uint32_t u = 1; u < g_range.units; u++) {
    if (!hak_page_is_cut(u * HAK_UNIT_PAGES)) continue;
    struct hak_paged *e = hak_range_paged(u);
    for (unsigned i = 0; i < 2; i++) e->stretch[i] = e->link[i].next = e->link[i].previous = 7;
    g_range.map[u] = 7;
  }
}
