/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pages.c: blocks of whole pages, cut out of units.
 *
 * what      Stretches of free pages: bins, cut, merge; blocks: written and erased; units: taken from runs.c and given
 *           back. See pages.h. A page has a number: 16 * unit + its place in the unit. A half of a unit has a number, too,
 *           the links of stretches: page / 8.
 *
 *               stretch   pages << 4 | dirty << 3 | place in the half        block   pages << 3 | place in the half
 *
 * owner     g_pages.
 * locks     g_runs.lock. After a takeover (os/lock.h) bins, sums and class map are rebuilt from the unit table.
 * failure   NULL or 0.
 * not here  Purging: runs_purge.c.
 */
#include "runs/pages.h"

#include "os/os.h"
#include "runs/region.h"
#include "runs/runs_internal.h"
#include "tables/classes.h"
#include "tables/hold.h"

enum {
  NO_HALF = 0,       /* unit 0 has no entry in use */
  FIT_TRIES = 8,
  CHUNK_UNITS = 32,  /* taken from runs at once, where free pages do not fit */
  CHUNK_PART = 8,    /* and at most this part of the mapped units */
  RETURN_UNITS = 32, /* a stretch with so many free units returns the units */
  EXACT = 64,        /* bins of a single length below this length, then PER_DOUBLING */
  EXACT_LOG = 6,
  PER_DOUBLING = 16,
  PER_LOG = 4,
  PLACE = HAK_HALF_PAGES - 1,
  PLACE_BITS = 3,
  DIRTY_BIT = 1 << PLACE_BITS,
  ALL_FREE = (1 << HAK_UNIT_PAGES) - 1
};

HAK_RARE struct hak_pages_state g_pages;

/* ---- pages, halves, units ---- */

static uint32_t page_of(const void *p) { return (uint32_t)(((uintptr_t)p - g_range.base) >> HAK_PAGE_SHIFT); }
static void *page_address(uint32_t page) { return (void *)(g_range.base + ((uintptr_t)page << HAK_PAGE_SHIFT)); }
static uint32_t unit_of(uint32_t page) { return page / HAK_UNIT_PAGES; }
static uint32_t half_of(uint32_t page) { return page / HAK_HALF_PAGES; }
static struct hak_paged *paged(uint32_t page) { return hak_range_paged(unit_of(page)); }

static bool is_paged(uint32_t page) {
  return unit_of(page) < g_range.units && paged(page)->kind == HAK_UNIT_PAGED;
}

static bool is_free(uint32_t page) { return is_paged(page) && paged(page)->free >> page % HAK_UNIT_PAGES & 1; }

static uint32_t *stretch_cell(uint32_t half) { return &hak_range_paged(half / 2)->stretch[half % 2]; }
static uint32_t *link_cell(uint32_t half) { return &hak_range_paged(half / 2)->link[half % 2].next; }
static uint16_t *block_cell(uint32_t page) { return &paged(page)->block[half_of(page) % 2]; }

/* The stretch that begins at a page: its pages; 0: none begins there. */
static uint32_t stretch_at(uint32_t page) {
  if (!is_paged(page)) return 0;
  uint32_t s = *stretch_cell(half_of(page));
  return (s & PLACE) == page % HAK_HALF_PAGES ? s >> (PLACE_BITS + 1) : 0;
}

/* ---- bins ---- */

static unsigned bin_of(uint32_t pages) {
  if (pages < EXACT) return pages;
  unsigned high = hak_highest_bit(pages);
  unsigned bin = EXACT + PER_DOUBLING * (high - EXACT_LOG) + (pages >> (high - PER_LOG) & (PER_DOUBLING - 1));
  return bin < HAK_PAGES_BINS ? bin : HAK_PAGES_BINS - 1;
}

/* The lowest bin of which every stretch has at least this length, unless it is the last bin. */
static unsigned bin_that_fits(uint32_t pages) {
  if (pages < EXACT) return pages;
  return bin_of(pages + (1u << (hak_highest_bit(pages) - PER_LOG)) - 1);
}

static void link_half(uint32_t half, unsigned dirty, unsigned b) {
  struct hak_pages_bins *bins = &g_pages.sort[dirty];
  uint32_t next = bins->first[b];
  hak_range_paged(half / 2)->link[half % 2].next = next;
  hak_range_paged(half / 2)->link[half % 2].previous = NO_HALF;
  if (next != NO_HALF) hak_range_paged(next / 2)->link[next % 2].previous = half;
  bins->first[b] = half;
  bins->filled[b / 64] |= (uint64_t)1 << b % 64;
}

/* A neighbour that does not point back means that the table was overwritten: ends the program. */
static void unlink_half(uint32_t half, unsigned dirty, unsigned b) {
  struct hak_pages_bins *bins = &g_pages.sort[dirty];
  uint32_t next = hak_range_paged(half / 2)->link[half % 2].next;
  uint32_t previous = hak_range_paged(half / 2)->link[half % 2].previous;
  uint32_t *ahead = previous == NO_HALF ? &bins->first[b] : &hak_range_paged(previous / 2)->link[previous % 2].next;
  if (HAK_UNLIKELY(*ahead != half)) hak_die(HAK_ERROR_torn, page_address(half * HAK_HALF_PAGES), 0, NULL);
  *ahead = next;
  if (next != NO_HALF) hak_range_paged(next / 2)->link[next % 2].previous = previous;
  if (bins->first[b] == NO_HALF) bins->filled[b / 64] &= ~((uint64_t)1 << b % 64);
}

/* ---- stretches ---- */

struct stretch {
  uint32_t page, pages;
  bool dirty;
};

static struct stretch stretch_of(uint32_t half) {
  uint32_t s = *stretch_cell(half);
  return (struct stretch){half * HAK_HALF_PAGES + (s & PLACE), s >> (PLACE_BITS + 1), (s & DIRTY_BIT) != 0};
}

/* Enters free pages, which are the whole stretch. */
static void enter_locked(struct stretch s) {
  uint32_t half = half_of(s.page), place = s.page % HAK_HALF_PAGES, last = half_of(s.page + s.pages - 1);
  if (s.pages == 0) return;
  if (last != half) *link_cell(last) = half;
  *stretch_cell(half) = s.pages << (PLACE_BITS + 1) | (s.dirty ? DIRTY_BIT : 0) | place;
  link_half(half, s.dirty, bin_of(s.pages));
}

static struct stretch withdraw_locked(uint32_t half) {
  struct stretch s = stretch_of(half);
  unlink_half(half, s.dirty, bin_of(s.pages));
  *stretch_cell(half) = 0;
  return s;
}

/* The first page of the free pages that end before `page`; `page`: none. The half in which a stretch ends has the half in
 * which it began in its link: no other stretch begins there, as a block lies between. */
static uint32_t free_before(uint32_t page) {
  uint32_t last = page - 1, half = half_of(last);
  if (!is_free(last)) return page;
  if (*stretch_cell(half) == 0) half = *link_cell(half);
  return half * HAK_HALF_PAGES + (*stretch_cell(half) & PLACE);
}

/* ---- free and dirty bits ---- */

/* The pages [page, page + left), unit by unit: bits of the first unit. */
static uint16_t first_bits(uint32_t page, uint32_t left) {
  uint32_t bits = (uint32_t)ALL_FREE << page % HAK_UNIT_PAGES & ALL_FREE, end = page % HAK_UNIT_PAGES + left;
  return (uint16_t)(end < HAK_UNIT_PAGES ? bits & ((1u << end) - 1) : bits);
}

static uint32_t next_unit(uint32_t page) { return page / HAK_UNIT_PAGES * HAK_UNIT_PAGES + HAK_UNIT_PAGES; }

static void set_free_locked(uint32_t page, uint32_t pages, bool dirty) {
  for (uint32_t end = page + pages; page < end; page = next_unit(page)) {
    struct hak_paged *e = paged(page);
    uint16_t bits = first_bits(page, end - page);
    if (dirty) hak_store(&e->dirty, (uint16_t)(e->dirty | bits));
    hak_store(&e->free, (uint16_t)(e->free | bits));
  }
}

/* The number of bits in a mask of 16. */
static uint32_t count_bits(uint32_t bits) {
  bits -= bits >> 1 & 0x5555;
  bits = (bits & 0x3333) + (bits >> 2 & 0x3333);
  bits = (bits + (bits >> 4)) & 0x0f0f;
  return (bits + (bits >> 8)) & 31;
}

/* Returns how many of the pages were dirty. */
static uint32_t set_used_locked(uint32_t page, uint32_t pages) {
  uint32_t dirty = 0;
  for (uint32_t end = page + pages; page < end; page = next_unit(page)) {
    struct hak_paged *e = paged(page);
    uint16_t bits = first_bits(page, end - page);
    if (HAK_LIKELY((e->dirty & bits) == ALL_FREE)) dirty += HAK_UNIT_PAGES;
    else dirty += count_bits(e->dirty & bits);
    hak_store(&e->dirty, (uint16_t)(e->dirty & ~bits));
    hak_store(&e->free, (uint16_t)(e->free & ~bits));
  }
  return dirty;
}

/* Takes [page, page + pages) out of stretch s, which was withdrawn. Returns how many of the pages were dirty. */
static uint32_t cut_locked(struct stretch s, uint32_t page, uint32_t pages) {
  uint32_t end = page + pages, dirty = set_used_locked(page, pages);
  g_runs.free_pages -= pages;
  g_runs.dirty_pages -= dirty;
  enter_locked((struct stretch){s.page, page - s.page, s.dirty});
  enter_locked((struct stretch){end, s.page + s.pages - end, s.dirty});
  return dirty;
}

/* Makes used pages free, and merges. Returns the merged stretch, withdrawn. */
static struct stretch free_locked(uint32_t page, uint32_t pages, bool dirty) {
  struct stretch s = {free_before(page), 0, dirty};
  uint32_t end = page + pages, behind = stretch_at(end);
  set_free_locked(page, pages, dirty);
  g_runs.free_pages += pages;
  g_runs.dirty_pages += dirty ? pages : 0;
  if (s.page != page) s.dirty |= withdraw_locked(half_of(s.page)).dirty;
  if (behind != 0) s.dirty |= withdraw_locked(half_of(end)).dirty;
  s.pages = end + behind - s.page;
  return s;
}

/* The first stretch of the first filled bin from b on; NO_HALF if none. */
static uint32_t first_from(const struct hak_pages_bins *bins, unsigned b) {
  uint64_t left = bins->filled[b / 64] & ~(uint64_t)0 << b % 64;
  unsigned w = b / 64;
  while (left == 0 && ++w < HAK_PAGES_WORDS) left = bins->filled[w];
  return left != 0 ? bins->first[w * 64 + hak_lowest_bit(left)] : NO_HALF;
}

/* A stretch with room in a bin that also holds shorter stretches: tries the first FIT_TRIES. */
static uint32_t fit_in_bin(const struct hak_pages_bins *bins, unsigned b, uint32_t pages) {
  uint32_t half = bins->first[b];
  for (unsigned n = 0; n < FIT_TRIES && half != NO_HALF; n++) {
    if (stretch_of(half).pages >= pages) return half;
    half = hak_range_paged(half / 2)->link[half % 2].next;
  }
  return NO_HALF;
}

/* A stretch of this sort with room, of the best fitting bin; NO_HALF if none. */
static uint32_t fit_locked(unsigned dirty, uint32_t pages) {
  const struct hak_pages_bins *bins = &g_pages.sort[dirty];
  unsigned own = bin_of(pages), b = bin_that_fits(pages);
  uint32_t half = own != b || b == HAK_PAGES_BINS - 1 ? fit_in_bin(bins, own, pages) : NO_HALF;
  return half != NO_HALF || b == HAK_PAGES_BINS - 1 ? half : first_from(bins, b);
}

static uint32_t longest_locked(unsigned dirty) {
  const struct hak_pages_bins *bins = &g_pages.sort[dirty];
  unsigned w = HAK_PAGES_WORDS - 1;
  while (w > 0 && bins->filled[w] == 0) w--;
  return bins->filled[w] != 0 ? bins->first[w * 64 + hak_highest_bit(bins->filled[w])] : NO_HALF;
}

/* ---- units ---- */

static void make_paged(uint32_t unit, bool free, bool dirty) {
  struct hak_paged *e = hak_range_paged(unit);
  hak_store(&e->head, unit);
  hak_store(&e->length, 1);
  for (unsigned i = 0; i < 2; i++) {
    hak_store(&e->stretch[i], 0);
    hak_store(&e->block[i], 0);
    hak_store(&e->origin[i], 0);
  }
  hak_store(&e->free, (uint16_t)(free ? ALL_FREE : 0));
  hak_store(&e->dirty, (uint16_t)(free && dirty ? ALL_FREE : 0));
  hak_store(&g_range.map[unit], 0);
  hak_store_release(&e->kind, HAK_UNIT_PAGED);
}

/* Makes units of runs.c paged and free. */
static void add_units_locked(uint32_t first, size_t units, bool dirty) {
  for (size_t i = 0; i < units; i++) make_paged(first + (uint32_t)i, false, false);
  enter_locked(free_locked(first * HAK_UNIT_PAGES, (uint32_t)units * HAK_UNIT_PAGES, dirty));
}

static size_t units_for(uint32_t pages) { return (pages + HAK_UNIT_PAGES - 1) / HAK_UNIT_PAGES; }

/* Takes units for a stretch of `pages` pages; with `fresh` also units without pages. While all free memory is held, no
 * more than the request needs, as each page is fetched. */
static bool grow_locked(uint32_t pages, bool fresh) {
  size_t need = units_for(pages), part = (g_range.mapped >> HAK_UNIT_SHIFT) / CHUNK_PART;
  size_t units = hak_holds_all() ? need : hak_max(need, hak_min(part, CHUNK_UNITS));
  bool clean = fresh;
  uint32_t first = hak_runs_cut_locked(need, &units, &clean);
  if (first == HAK_NO_UNIT) return false;
  if (clean) hak_region_used(first, units);
  bool held = hak_holds_all() && clean && hak_os_populate(hak_range_address(first), units << HAK_UNIT_SHIFT, true);
  add_units_locked(first, units, !clean || held);
  return true;
}

/* The units that lie wholly inside a stretch: [*first, end). Returns the number. */
static size_t units_inside(struct stretch s, uint32_t *first) {
  uint32_t end = (s.page + s.pages) / HAK_UNIT_PAGES;
  *first = (s.page + HAK_UNIT_PAGES - 1) / HAK_UNIT_PAGES;
  return end > *first ? end - *first : 0;
}

/* Gives the units inside a withdrawn stretch back to runs.c, and enters the rest. Returns the merged run. */
static uint32_t return_units_locked(struct stretch s, uint32_t first, size_t units) {
  uint32_t from = first * HAK_UNIT_PAGES, pages = (uint32_t)units * HAK_UNIT_PAGES;
  uint32_t dirty = cut_locked(s, from, pages);
  for (size_t i = 0; i < units; i++) hak_store(&hak_range_entry(first + (uint32_t)i)->kind, HAK_UNIT_TAIL);
  return hak_runs_merge_locked(first, units, dirty != 0 ? HAK_UNIT_DIRTY : HAK_UNIT_CLEAN);
}

/* Enters a stretch that grew; gives its units back where enough other free pages stay. */
static void settle_locked(struct stretch s) {
  uint32_t first;
  size_t units = s.pages >= RETURN_UNITS * HAK_UNIT_PAGES ? units_inside(s, &first) : 0;
  bool many = g_runs.free_pages - units * HAK_UNIT_PAGES >= CHUNK_UNITS * HAK_UNIT_PAGES;
  if (units >= RETURN_UNITS && many) return_units_locked(s, first, units);
  else enter_locked(s);
}

/* ---- blocks ---- */

HAK_INLINE unsigned class_of_block(uint16_t block, uint64_t origin) {
  uint32_t pages = block >> PLACE_BITS;
  return block == 0 || origin != 0 || pages > HAK_RUN_MAX / HAK_PAGE_BYTES ? 0 : hak_run_class_of_pages(pages);
}

/* Writes the class-map byte of a unit. */
static void name_locked(uint32_t unit) {
  struct hak_paged *e = hak_range_paged(unit);
  unsigned low = class_of_block(e->block[0], e->origin[0]), high = class_of_block(e->block[1], e->origin[1]);
  bool same = low == high || e->block[0] == 0 || e->block[1] == 0;
  hak_store(&g_range.map[unit], (uint8_t)(same ? low | high : 0));
}

static void write_locked(uint32_t page, size_t pages, uint64_t origin) {
  hak_store(&paged(page)->origin[half_of(page) % 2], origin);
  hak_store_release(block_cell(page), (uint16_t)(pages << PLACE_BITS | page % HAK_HALF_PAGES));
  name_locked(unit_of(page));
}

static void erase_locked(uint32_t page) {
  hak_store_release(block_cell(page), 0);
  name_locked(unit_of(page));
}

/* The word of the block that begins at p; 0: none. p may be any pointer into a paged unit. */
HAK_INLINE uint16_t block_at(const void *p) {
  uint32_t page = page_of(p);
  uint16_t block = hak_load_acquire(block_cell(page));
  bool begins = (uintptr_t)p % HAK_PAGE_BYTES == 0 && (block & PLACE) == page % HAK_HALF_PAGES;
  return begins ? block : 0;
}

size_t hak_pages_of(const void *p) { return block_at(p) >> PLACE_BITS; }

HAK_INLINE uint64_t origin_at(const void *p) { return hak_load(&paged(page_of(p))->origin[half_of(page_of(p)) % 2]); }

uint64_t hak_pages_origin(const void *p) { return origin_at(p); }

unsigned hak_pages_class(const void *p) { return class_of_block(block_at(p), origin_at(p)); }

/* The nearest block that begins at or before p, if p lies inside. */
void *hak_pages_block(const void *p) {
  uint32_t page = page_of(p);
  for (uint32_t half = half_of(page), n = 0; n <= HAK_PAGES_MOST / HAK_HALF_PAGES + 1; half--, n++) {
    if (hak_load_acquire(&hak_range_paged(half / 2)->kind) != HAK_UNIT_PAGED) return NULL;
    uint16_t block = hak_load_acquire(&hak_range_paged(half / 2)->block[half % 2]);
    uint32_t start = half * HAK_HALF_PAGES + (block & PLACE);
    if (block == 0 || start > page) continue;
    return page - start < block >> PLACE_BITS ? page_address(start) : NULL;
  }
  return NULL;
}

/* ---- get ---- */

static uint32_t aligned(uint32_t page, size_t align) {
  uintptr_t start = hak_round_up((uintptr_t)page_address(page), (uintptr_t)align << HAK_PAGE_SHIFT);
  return page_of((void *)start);
}

/* The order of pages.h. */
static uint32_t find_locked(uint32_t pages) {
  uint32_t half = fit_locked(true, pages);
  if (half == NO_HALF && grow_locked(pages, false)) half = fit_locked(true, pages);
  if (half != NO_HALF || !hak_footprint_allows((size_t)pages << HAK_PAGE_SHIFT)) return half;
  half = fit_locked(false, pages);
  if (half != NO_HALF || !grow_locked(pages, true)) return half;
  half = fit_locked(true, pages); /* merged with a dirty stretch, or fetched */
  return half != NO_HALF ? half : fit_locked(false, pages);
}

/* Notes that pages without content are about to be used; a misfit if no dirty stretch had room. */
static void note_clean_locked(uint32_t pages, bool misfit) {
  uint64_t bytes = (uint64_t)pages << HAK_PAGE_SHIFT;
  if (misfit) hak_watermark_note_misfit(&g_runs.level, hak_min(bytes, hak_runs_dirty_bytes()));
  bool counts = hak_setting(mode) > HAK_MODE_BASELINE; /* otherwise the counter's page stays untouched */
  if (HAK_UNLIKELY(counts)) hak_count(HAK_COUNTER_fetched_bytes, bytes);
}

/* Cuts the block out of a stretch. Returns its first page. */
static uint32_t take_locked(uint32_t half, uint32_t pages, size_t align, bool *zero) {
  struct stretch s = withdraw_locked(half);
  uint32_t page = aligned(s.page, align);
  uint32_t dirty = cut_locked(s, page, pages);
  if (dirty != pages) note_clean_locked(pages - dirty, !s.dirty);
  *zero = dirty == 0;
  return page;
}

static uint32_t get_locked(uint32_t pages, size_t align, uint64_t origin, bool *zero) {
  uint32_t half = find_locked(pages + (uint32_t)align - 1);
  if (half == NO_HALF) return 0;
  uint32_t page = take_locked(half, pages, align, zero);
  write_locked(page, pages, origin);
  return page;
}

/* Called after the bytes were published, as in runs.c. */
static bool is_over_hard_limit(void) {
  if (HAK_LIKELY(hak_setting(hard_limit) == 0)) return false;
  hak_fence();
  return !hak_footprint_allows(0);
}

/* Frees pages of which the blocks are erased. */
static void put_locked(uint32_t page, uint32_t pages, bool dirty) { settle_locked(free_locked(page, pages, dirty)); }

static void back_out(uint32_t page, uint32_t pages) {
  hak_runs_lock();
  erase_locked(page);
  put_locked(page, pages, false);
  hak_runs_unlock();
}

void *hak_pages_get(size_t pages, size_t align, uint64_t origin, bool *zero) {
  if (pages > HAK_PAGES_MOST || align > HAK_PAGES_MOST) return NULL;
  uint32_t n = (uint32_t)hak_max(pages, HAK_PAGES_LEAST);
  hak_runs_lock();
  uint32_t page = get_locked(n, align, origin, zero);
  hak_runs_unlock();
  if (page == 0) return NULL;
  if (*zero && is_over_hard_limit()) return back_out(page, n), NULL;
  return page_address(page);
}

/* Takes dirty stretches of the request's own bin. */
static size_t fill_locked(uint32_t pages, void **out, size_t want) {
  const struct hak_pages_bins *bins = &g_pages.sort[true];
  unsigned b = bin_that_fits(pages);
  size_t n = 0;
  for (bool zero; n < want && b < HAK_PAGES_BINS - 1 && bins->first[b] != NO_HALF; n++) {
    uint32_t page = take_locked(bins->first[b], pages, 1, &zero);
    write_locked(page, pages, 0);
    out[n] = page_address(page);
  }
  return n;
}

/* Cuts blocks from the stretch right behind `page`, unless a request missed free memory within T. */
static size_t fill_behind_locked(uint32_t page, uint32_t pages, void **out, size_t want) {
  size_t n = g_runs.level.misfit == 0 ? hak_min(want, stretch_at(page) / pages) : 0;
  if (n == 0 || !stretch_of(half_of(page)).dirty) return 0;
  uint32_t all = (uint32_t)n * pages, dirty = cut_locked(withdraw_locked(half_of(page)), page, all);
  if (dirty != all) note_clean_locked(all - dirty, false);
  for (size_t i = 0; i < n; i++, page += pages) {
    write_locked(page, pages, 0);
    out[i] = page_address(page);
  }
  return n;
}

/* out[n - 1] leaves a magazine first. */
static void reverse(void **out, size_t n) {
  for (size_t i = 0; i < n / 2; i++) {
    void *p = out[i];
    out[i] = out[n - 1 - i];
    out[n - 1 - i] = p;
  }
}

size_t hak_pages_fill(size_t pages, void **out, size_t want) {
  bool zero;
  uint32_t length = (uint32_t)pages;
  size_t n = 1;
  hak_runs_lock();
  uint32_t page = get_locked(length, 1, 0, &zero);
  if (page != 0 && want > 1 && !zero) {
    n += fill_locked(length, out + n, want - n);
    n += fill_behind_locked(page + length, length, out + n, want - n);
  }
  hak_runs_unlock();
  if (page == 0) return 0;
  if (zero && is_over_hard_limit()) return back_out(page, length), 0;
  out[0] = page_address(page);
  reverse(out, n);
  return n;
}

/* ---- put ---- */

enum hak_error hak_pages_judge(unsigned c, const void *p) {
  bool inside = hak_load_acquire(&paged(page_of(p))->kind) == HAK_UNIT_PAGED;
  if (inside && hak_pages_class(p) == c) return HAK_ERROR_none;
  bool interior = inside && block_at(p) == 0 && hak_pages_block(p) != NULL;
  return interior ? HAK_ERROR_interior : HAK_ERROR_released;
}

/* Erases the block that begins at p if its class is c. Returns its pages; 0: p is no such block. */
HAK_INLINE uint32_t erase_class_locked(unsigned c, const void *p) {
  uint16_t block = is_paged(page_of(p)) ? block_at(p) : 0;
  if (HAK_UNLIKELY(block == 0 || class_of_block(block, origin_at(p)) != c)) return 0;
  erase_locked(page_of(p));
  return block >> PLACE_BITS;
}

static void unlock_after_put(void) {
  hak_runs_publish_locked();
  hak_runs_publish_stay_locked();
  hak_lock_drop(&g_runs.lock);
}

size_t hak_pages_put(const void *p, unsigned c, uint64_t *origin) {
  hak_runs_lock();
  *origin = is_paged(page_of(p)) ? origin_at(p) : 0;
  uint32_t pages = erase_class_locked(c, p);
  if (HAK_LIKELY(pages != 0)) put_locked(page_of(p), pages, true);
  hak_runs_pass_time_locked(pages);
  unlock_after_put();
  return pages;
}

/* Erased pages side by side, not free yet. */
struct joined {
  uint32_t page, pages;
};

/* Joins [page, page + pages) to `whole`, or frees `whole` and begins anew. */
static struct joined join_locked(struct joined whole, uint32_t page, uint32_t pages) {
  if (page == whole.page + whole.pages) return (struct joined){whole.page, whole.pages + pages};
  if (page + pages == whole.page) return (struct joined){page, whole.pages + pages};
  if (whole.pages != 0) put_locked(whole.page, whole.pages, true);
  return (struct joined){page, pages};
}

size_t hak_pages_put_some(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault) {
  struct joined whole = {0, 0};
  size_t sum = 0;
  hak_runs_lock();
  for (size_t i = 0; i < n; i++) {
    uint32_t pages = erase_class_locked(c, blocks[i]);
    bool first = pages == 0 && fault->error == HAK_ERROR_none;
    if (HAK_UNLIKELY(first)) *fault = (struct hak_fault){hak_pages_judge(c, blocks[i]), blocks[i]};
    if (HAK_LIKELY(pages != 0)) whole = join_locked(whole, page_of(blocks[i]), pages);
    sum += pages;
  }
  if (whole.pages != 0) put_locked(whole.page, whole.pages, true);
  hak_runs_pass_time_locked(sum);
  unlock_after_put();
  return sum;
}

/* ---- the length ---- */

void hak_pages_set_origin(const void *p, uint64_t origin) {
  hak_runs_lock();
  hak_store(&paged(page_of(p))->origin[half_of(page_of(p)) % 2], origin);
  name_locked(unit_of(page_of(p)));
  hak_runs_unlock();
}

/* Free pages from `page` on: the stretch there, or, at the end of the paged units, units of the free run behind. */
static bool make_room_locked(uint32_t page, uint32_t more) {
  uint32_t have = stretch_at(page), end = page + have;
  if (have >= more) return true;
  if (end % HAK_UNIT_PAGES != 0) return false;
  size_t units = units_for(more - have);
  bool clean;
  if (!hak_runs_cut_at_locked(unit_of(end), units, &clean)) return false;
  if (clean) hak_region_used(unit_of(end), units);
  add_units_locked(unit_of(end), units, !clean);
  return stretch_at(page) >= more;
}

static bool grow_block_locked(uint32_t page, uint32_t have, uint32_t pages) {
  uint32_t end = page + have, more = pages - have;
  bool zero, fits = hak_footprint_allows((uint64_t)more << HAK_PAGE_SHIFT) && make_room_locked(end, more);
  if (fits) take_locked(half_of(end), more, 1, &zero);
  return fits;
}

bool hak_pages_resize(const void *p, size_t pages) {
  uint32_t page = page_of(p), n = (uint32_t)hak_max(pages, HAK_PAGES_LEAST);
  if (pages > HAK_PAGES_MOST) return false;
  hak_runs_lock();
  uint32_t have = block_at(p) >> PLACE_BITS;
  bool ok = n <= have || grow_block_locked(page, have, n);
  if (ok) write_locked(page, n, hak_pages_origin(p));
  if (n < have) settle_locked(free_locked(page + n, have - n, true));
  hak_runs_unlock();
  return ok;
}

void hak_pages_adopt(uint32_t unit, size_t pages, uint64_t origin) {
  hak_runs_lock();
  size_t units = hak_range_entry(unit)->length;
  uint32_t page = unit * HAK_UNIT_PAGES, rest = (uint32_t)(units * HAK_UNIT_PAGES - pages);
  for (size_t i = units; i-- > 0;) make_paged(unit + (uint32_t)i, false, false);
  write_locked(page, pages, origin);
  if (rest != 0) settle_locked(free_locked(page + (uint32_t)pages, rest, true));
  hak_runs_unlock();
}

/* ---- for runs_purge.c and runs.c ---- */

/* Pages without the lock are no fewer than a block's: so a half has at most one end and one beginning of a stretch. */
struct hak_extent hak_pages_detach_locked(uint64_t most) {
  uint32_t half = longest_locked(true);
  if (half == NO_HALF || stretch_of(half).pages < HAK_PAGES_LEAST) return (struct hak_extent){NULL, 0};
  struct stretch s = withdraw_locked(half);
  size_t wanted = hak_round_up(most, hak_max(hak_os_page_bytes(), HAK_UNIT_BYTES)) >> HAK_PAGE_SHIFT;
  uint32_t pages = (uint32_t)hak_min(s.pages, wanted), page = s.page + s.pages - pages;
  cut_locked(s, page, pages);
  g_runs.detached += pages;
  hak_region_break(unit_of(page), unit_of(page + pages - 1) - unit_of(page) + 1);
  return (struct hak_extent){page_address(page), (size_t)pages << HAK_PAGE_SHIFT};
}

size_t hak_pages_short_locked(struct hak_extent *list, size_t most) {
  size_t n = 0;
  for (unsigned b = 1; b < HAK_PAGES_LEAST; b++) {
    for (uint32_t half = g_pages.sort[true].first[b]; half != NO_HALF && n < most; n++) {
      struct stretch s = stretch_of(half);
      hak_region_break(unit_of(s.page), unit_of(s.page + s.pages - 1) - unit_of(s.page) + 1);
      list[n] = (struct hak_extent){page_address(s.page), (size_t)s.pages << HAK_PAGE_SHIFT};
      half = hak_range_paged(half / 2)->link[half % 2].next;
    }
  }
  return n;
}

void hak_pages_cleaned_locked(struct hak_extent x) {
  struct stretch s = withdraw_locked(half_of(page_of(x.address)));
  g_runs.dirty_pages -= set_used_locked(s.page, s.pages);
  set_free_locked(s.page, s.pages, s.dirty = false);
  enter_locked(s);
}

void hak_pages_attach_locked(struct hak_extent x, bool clean) {
  uint32_t pages = (uint32_t)(x.bytes >> HAK_PAGE_SHIFT), first;
  g_runs.detached -= hak_min(pages, g_runs.detached);
  struct stretch s = free_locked(page_of(x.address), pages, !clean);
  size_t units = clean ? units_inside(s, &first) : 0;
  if (units != 0) return_units_locked(s, first, units);
  else enter_locked(s);
}

/* The dirty bin of a stretch may be older than its bits: a part without dirty pages was cut off. */
static void return_from_locked(unsigned dirty, unsigned b) {
  uint32_t next, first;
  for (uint32_t half = g_pages.sort[dirty].first[b]; half != NO_HALF; half = next) {
    next = hak_range_paged(half / 2)->link[half % 2].next;
    size_t units = units_inside(stretch_of(half), &first);
    if (units != 0) return_units_locked(withdraw_locked(half), first, units);
  }
}

void hak_pages_return_all(void) {
  hak_runs_lock();
  for (unsigned dirty = 0; dirty < 2; dirty++) {
    for (unsigned b = bin_of(HAK_UNIT_PAGES); b < HAK_PAGES_BINS; b++) return_from_locked(dirty, b);
  }
  hak_runs_unlock();
}

/* ---- after a takeover of the lock in a fork's child ---- */

static uint32_t rebuild_stretch_locked(uint32_t page) {
  struct stretch s = {page, 0, false};
  for (; is_free(page); page++, s.pages++) {
    bool dirty = paged(page)->dirty >> page % HAK_UNIT_PAGES & 1;
    s.dirty |= dirty;
    g_runs.dirty_pages += dirty;
  }
  g_runs.free_pages += s.pages;
  enter_locked(s);
  return page;
}

static bool begins_stretch(uint32_t page) { return is_free(page) && !is_free(page - 1); }

static void forget_stretches(uint32_t unit) {
  hak_range_paged(unit)->stretch[0] = hak_range_paged(unit)->stretch[1] = 0;
  name_locked(unit);
}

void hak_pages_rebuild_locked(void) {
  g_pages = (struct hak_pages_state){0};
  g_runs.free_pages = g_runs.dirty_pages = 0;
  for (size_t u = 1; (u = hak_range_pass(u)) < g_range.units; u++) {
    if (hak_range_entry((uint32_t)u)->kind == HAK_UNIT_PAGED) forget_stretches((uint32_t)u);
  }
  for (size_t u = 1; (u = hak_range_pass(u)) < g_range.units; u++) {
    uint32_t page = (uint32_t)u * HAK_UNIT_PAGES, end = page + HAK_UNIT_PAGES;
    while (page < end && is_paged(page)) page = begins_stretch(page) ? rebuild_stretch_locked(page) : page + 1;
  }
}
