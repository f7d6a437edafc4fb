/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stretch.c: free pages of paged units.
 *
 * what      Bins, cut and merge; units taken from runs.c and given back; what runs_purge.c needs. See stretch.h.
 * owner     g_pages.
 * locks     g_runs.lock. After a takeover (os/lock.h) bins, sums and ends are rebuilt from the free and dirty bits.
 * failure   HAK_NO_HALF.
 * not here  Purging: runs_purge.c.
 */
#include "runs/stretch.h"

#include "os/os.h"
#include "runs/pages.h"
#include "runs/region.h"
#include "tables/hold.h"

enum {
  FIT_TRIES = 8,
  ALIGNED_TRIES = 32,
  CHUNK_UNITS = 32,  /* taken from runs at once, where free pages do not fit */
  CHUNK_PART = 8,    /* and at most this part of the mapped units */
  RETURN_UNITS = HAK_SECURE ? 16 : 32, /* a stretch with so many free units returns the units */
  EXACT = 64,        /* bins of a single length below this length, then PER_DOUBLING */
  EXACT_LOG = 6,
  PER_DOUBLING = 16,
  PER_LOG = 4,
  ALL_FREE = (1 << HAK_UNIT_PAGES) - 1,
  FREE_AND_DIRTY = 1 << HAK_UNIT_PAGES | 1 /* times a mask: in both of an entry's masks */
};

HAK_RARE struct hak_pages_state g_pages;

static bool is_page_free(uint32_t page) {
  return hak_page_is_cut(page) && hak_page_entry(page)->free >> page % HAK_UNIT_PAGES & 1;
}

static uint32_t *link_cell(uint32_t half) { return &hak_range_paged(half / 2)->link[half % 2].next; }

/* ---- bins ---- */

static unsigned bin_of(uint32_t pages) {
  if (pages < EXACT) return pages;
  unsigned high = hak_highest_bit(pages);
  unsigned bin = EXACT + PER_DOUBLING * (high - EXACT_LOG) + (pages >> (high - PER_LOG) & (PER_DOUBLING - 1));
  return bin < HAK_PAGES_BINS ? bin : HAK_PAGES_BINS - 1;
}

/* The lowest bin of which every stretch has at least this length, unless it is the last bin. */
HAK_INLINE unsigned bin_with_room(uint32_t pages) {
  unsigned b = bin_of(pages);
  if (pages < EXACT || b == HAK_PAGES_BINS - 1) return b;
  return pages & ((1u << (hak_highest_bit(pages) - PER_LOG)) - 1) ? b + 1 : b;
}

/* Fields of a slab may lie at the same place, which a sweep reads before it takes the slab's lock: hence hak_store. */
HAK_INLINE void set_previous(uint32_t half, uint32_t previous) {
  hak_store(&hak_range_paged(half / 2)->link[half % 2].previous, previous);
}
HAK_INLINE void set_stretch(uint32_t half, uint32_t stretch) { hak_store(hak_stretch_cell(half), stretch); }

static void link_half(uint32_t half, unsigned dirty, unsigned b) {
  struct hak_pages_bins *bins = &g_pages.sort[dirty];
  uint32_t *first = &bins->first[b], next = *first, *cell = link_cell(half);
  hak_store(&cell[0], next);
  hak_store(&cell[1], HAK_NO_HALF); /* previous */
  if (next != HAK_NO_HALF) set_previous(next, half);
  *first = half;
  bins->filled[b / 64] |= (uint64_t)1 << b % 64;
}

static HAK_NOINLINE void die_torn(uint32_t half) {
  hak_die(HAK_ERROR_torn, hak_page_address(half * HAK_HALF_PAGES), 0, NULL);
}

/* A neighbour that does not point back means that the table was overwritten: ends the program. */
static void unlink_half(uint32_t half, unsigned dirty, unsigned b) {
  struct hak_pages_bins *bins = &g_pages.sort[dirty];
  uint32_t next = hak_range_paged(half / 2)->link[half % 2].next;
  uint32_t previous = hak_range_paged(half / 2)->link[half % 2].previous;
  uint32_t *ahead = previous == HAK_NO_HALF ? &bins->first[b] : link_cell(previous);
  if (HAK_UNLIKELY(*ahead != half)) die_torn(half);
  hak_store(ahead, next);
  if (next != HAK_NO_HALF) set_previous(next, previous);
  if (next == HAK_NO_HALF && previous == HAK_NO_HALF) bins->filled[b / 64] &= ~((uint64_t)1 << b % 64);
}

/* ---- stretches ---- */

/* Enters free pages, which are the whole stretch. */
static void enter_locked(struct hak_stretch s) {
  uint32_t half = hak_page_half(s.page), place = s.page % HAK_HALF_PAGES, last = hak_page_half(s.page + s.pages - 1);
  if (last != half) hak_store(link_cell(last), half);
  uint32_t value = s.pages << (HAK_PLACE_BITS + 1) | (s.dirty ? HAK_STRETCH_DIRTY : 0) | place;
  set_stretch(half, value);
  link_half(half, s.dirty, bin_of(s.pages));
}

struct hak_stretch hak_stretch_withdraw_locked(uint32_t half) {
  struct hak_stretch s = hak_stretch_of(half);
  unlink_half(half, s.dirty, bin_of(s.pages));
  set_stretch(half, 0);
  return s;
}

/* The half in which the stretch begins that ends before `page`; HAK_NO_HALF: none. */
HAK_INLINE uint32_t half_before(uint32_t page) {
  uint32_t last = page - 1, half = hak_page_half(last);
  if (!is_page_free(last)) return HAK_NO_HALF;
  return *hak_stretch_cell(half) != 0 ? half : *link_cell(half);
}

/* ---- free and dirty bits ---- */

HAK_INLINE uint32_t bits_from(uint32_t page) { return (uint32_t)ALL_FREE << page % HAK_UNIT_PAGES & ALL_FREE; }
HAK_INLINE uint32_t bits_to(uint32_t last) { return ALL_FREE >> (HAK_UNIT_PAGES - 1 - last % HAK_UNIT_PAGES); }

/* The units of [page, page + pages), and masks of these pages in the first and in the last unit. Between these two
 * units all pages belong to it. */
struct masks {
  struct hak_paged *e, *end;
  uint32_t first, last;
};

HAK_INLINE struct masks masks_of(uint32_t page, uint32_t pages) {
  uint32_t last = page + pages - 1, bits = bits_to(last);
  struct hak_paged *e = hak_page_entry(page), *end = hak_page_entry(last);
  return (struct masks){e, end, e == end ? bits_from(page) & bits : bits_from(page), bits};
}

static void set_free_locked(uint32_t page, uint32_t pages, bool dirty) {
  struct masks m = masks_of(page, pages);
  uint32_t both = dirty ? FREE_AND_DIRTY : 1;
  hak_store(&m.e->pages, m.e->pages | m.first * both);
  while (++m.e < m.end) hak_store(&m.e->pages, ALL_FREE * both);
  if (m.e == m.end) hak_store(&m.e->pages, m.e->pages | m.last * both);
}

/* The number of bits in a mask of 16. */
static HAK_NOINLINE uint32_t count_bits(uint32_t bits) {
  bits -= bits >> 1 & 0x5555;
  bits = (bits & 0x3333) + (bits >> 2 & 0x3333);
  bits = (bits + (bits >> 4)) & 0x0f0f;
  return (bits + (bits >> 8)) & 31;
}

/* Returns how many of the pages of this unit were clean. */
HAK_INLINE uint32_t use_bits(struct hak_paged *e, uint32_t bits) {
  uint32_t pages = e->pages, clean = bits & ~(pages >> HAK_UNIT_PAGES);
  hak_store(&e->pages, pages & ~(bits * FREE_AND_DIRTY));
  return HAK_LIKELY(clean == 0) ? 0 : count_bits(clean);
}

/* Returns how many of the pages were dirty. */
static uint32_t set_used_locked(uint32_t page, uint32_t pages) {
  struct masks m = masks_of(page, pages);
  uint32_t clean = use_bits(m.e, m.first);
  while (++m.e < m.end) clean += use_bits(m.e, ALL_FREE);
  return pages - clean - (m.e == m.end ? use_bits(m.e, m.last) : 0);
}

/* Takes [page, page + pages) out of stretch s, which was withdrawn. Returns how many of the pages were dirty. */
uint32_t hak_stretch_cut_locked(struct hak_stretch s, uint32_t page, uint32_t pages) {
  uint32_t end = page + pages, dirty = set_used_locked(page, pages);
  g_runs.free_pages -= pages;
  g_runs.dirty_pages -= dirty;
  if (page != s.page) enter_locked((struct hak_stretch){s.page, page - s.page, s.dirty});
  if (end != s.page + s.pages) enter_locked((struct hak_stretch){end, s.page + s.pages - end, s.dirty});
  return dirty;
}

/* Makes used pages free, and merges. Returns the merged stretch, withdrawn. */
static struct hak_stretch free_locked(uint32_t page, uint32_t pages, bool dirty) {
  uint32_t before = half_before(page), end = page + pages;
  struct hak_stretch s = {page, pages, dirty};
  set_free_locked(page, pages, dirty);
  g_runs.free_pages += pages;
  g_runs.dirty_pages += dirty ? pages : 0;
  if (before != HAK_NO_HALF) {
    struct hak_stretch front = hak_stretch_withdraw_locked(before);
    s = (struct hak_stretch){front.page, front.pages + pages, front.dirty | dirty};
  }
  if (hak_stretch_at(end) != 0) {
    struct hak_stretch back = hak_stretch_withdraw_locked(hak_page_half(end));
    s.pages += back.pages;
    s.dirty |= back.dirty;
  }
  return s;
}

/* The first filled bin from b on; HAK_PAGES_BINS if none. */
HAK_INLINE unsigned filled_from(const struct hak_pages_bins *bins, unsigned b) {
  uint64_t left = bins->filled[b / 64] & ~(uint64_t)0 << b % 64;
  unsigned w = b / 64;
  while (left == 0 && ++w < HAK_PAGES_WORDS) left = bins->filled[w];
  return left != 0 ? w * 64 + hak_lowest_bit(left) : HAK_PAGES_BINS;
}

static uint32_t first_from(const struct hak_pages_bins *bins, unsigned b) {
  b = filled_from(bins, b);
  return b != HAK_PAGES_BINS ? bins->first[b] : HAK_NO_HALF;
}

/* A stretch with room in a bin that also holds shorter stretches: tries the first FIT_TRIES. */
static uint32_t fit_in_bin(const struct hak_pages_bins *bins, unsigned b, uint32_t pages) {
  uint32_t half = bins->first[b];
  for (unsigned n = 0; n < FIT_TRIES && half != HAK_NO_HALF; n++) {
    if (hak_stretch_of(half).pages >= pages) return half;
    half = hak_range_paged(half / 2)->link[half % 2].next;
  }
  return HAK_NO_HALF;
}

/* A stretch with room at this alignment, of stretches too short for every start: tries the first ALIGNED_TRIES. */
static HAK_NOINLINE uint32_t fit_tightly(const struct hak_pages_bins *bins, uint32_t pages, uint32_t align) {
  unsigned end = bin_with_room(pages + align - 1), looks = 0;
  for (unsigned b = filled_from(bins, bin_of(pages)); b < end; b = filled_from(bins, b + 1)) {
    for (uint32_t half = bins->first[b]; half != HAK_NO_HALF; half = *link_cell(half)) {
      struct hak_stretch s = hak_stretch_of(half);
      if (hak_page_aligned(s.page, align) + pages <= s.page + s.pages) return half;
      if (++looks == ALIGNED_TRIES) return HAK_NO_HALF;
    }
  }
  return HAK_NO_HALF;
}

/* A stretch of this sort with room, of the best fitting bin; HAK_NO_HALF if none. */
static uint32_t fit(unsigned dirty, uint32_t pages) {
  const struct hak_pages_bins *bins = &g_pages.sort[dirty];
  unsigned own = bin_of(pages), b = bin_with_room(pages);
  uint32_t half = own != b || b == HAK_PAGES_BINS - 1 ? fit_in_bin(bins, own, pages) : HAK_NO_HALF;
  return half != HAK_NO_HALF || b == HAK_PAGES_BINS - 1 ? half : first_from(bins, b);
}

HAK_INLINE uint32_t fit_aligned(unsigned dirty, uint32_t pages, uint32_t align) {
  if (HAK_LIKELY(align == 1)) return fit(dirty, pages);
  uint32_t tight = fit_tightly(&g_pages.sort[dirty], pages, align);
  return tight != HAK_NO_HALF ? tight : fit(dirty, pages + align - 1);
}

/* ---- units ---- */

void hak_stretch_cut_unit(uint32_t unit) {
  struct hak_paged *e = hak_range_paged(unit);
  hak_store(&e->head, unit);
  hak_store(&e->length, 1);
  for (unsigned i = 0; i < 2; i++) {
    hak_store(&e->stretch[i], 0);
    hak_store(&e->block[i], 0);
    hak_store(&e->origin[i], 0);
  }
  hak_store(&e->pages, 0);
  hak_store(&g_range.map[unit], 0);
  hak_store_release(&e->kind, HAK_UNIT_PAGED);
}

/* Makes units just cut out of a run paged and free; while all free memory is held, fetches their pages. Returns the
 * stretch around them. */
static uint32_t add_units_locked(uint32_t first, size_t units, bool clean) {
  bool hold = clean && hak_holds_all();
  if (clean) hak_runs_use_clean_locked(first, units, 0);
  bool fetched = hold && hak_os_populate(hak_range_address(first), units << HAK_UNIT_SHIFT, true);
  for (size_t i = 0; i < units; i++) hak_stretch_cut_unit(first + (uint32_t)i);
  struct hak_stretch s = free_locked(first * HAK_UNIT_PAGES, (uint32_t)units * HAK_UNIT_PAGES, !clean || fetched);
  enter_locked(s);
  return hak_page_half(s.page);
}

static size_t units_of_pages(uint32_t pages) { return (pages + HAK_UNIT_PAGES - 1) / HAK_UNIT_PAGES; }

/* Takes units for a stretch of `pages` pages; with `fresh` also units without pages. No more than the request needs
 * while all free memory is held, as each page is fetched, and after the kernel refused memory. Returns the stretch,
 * with room at any alignment up to a unit; HAK_NO_HALF: no memory. */
static uint32_t grow_locked(uint32_t pages, bool fresh) {
  size_t need = units_of_pages(pages), part = (g_range.mapped >> HAK_UNIT_SHIFT) / CHUNK_PART;
  bool exact = hak_holds_all() || hak_load(&g_range.refused);
  size_t units = exact ? need : hak_max(need, hak_min(part, CHUNK_UNITS));
  bool clean = fresh;
  uint32_t first = hak_runs_cut_locked(need, &units, &clean);
  return first != HAK_NO_UNIT ? add_units_locked(first, units, clean) : HAK_NO_HALF;
}

/* The units that lie wholly inside a stretch: [*first, end). Returns the number. */
static size_t units_inside(struct hak_stretch s, uint32_t *first) {
  uint32_t end = (s.page + s.pages) / HAK_UNIT_PAGES;
  *first = (s.page + HAK_UNIT_PAGES - 1) / HAK_UNIT_PAGES;
  return end > *first ? end - *first : 0;
}

/* Gives the units inside a withdrawn stretch back to runs.c, and enters the rest. Returns the merged run. */
static uint32_t return_units_locked(struct hak_stretch s, uint32_t first, size_t units) {
  uint32_t from = first * HAK_UNIT_PAGES, pages = (uint32_t)units * HAK_UNIT_PAGES;
  uint32_t dirty = hak_stretch_cut_locked(s, from, pages);
  for (size_t i = 0; i < units; i++) hak_store(&hak_range_entry(first + (uint32_t)i)->kind, HAK_UNIT_TAIL);
  return hak_runs_merge_locked(first, units, dirty != 0 ? HAK_UNIT_DIRTY : HAK_UNIT_CLEAN);
}

/* Enters a stretch that grew. Gives units at its end back, many at once, where enough free pages stay for the next
 * blocks; while all free memory is held, all units at once, as requests of other lengths may fetch no pages. */
static void return_or_enter_locked(struct hak_stretch s) {
  size_t least = hak_holds_all() ? 1 : RETURN_UNITS, reserve = hak_holds_all() ? 0 : CHUNK_UNITS;
  uint32_t first;
  size_t units = s.pages >= least * HAK_UNIT_PAGES ? units_inside(s, &first) : 0;
  size_t spare = hak_less(g_runs.free_pages / HAK_UNIT_PAGES, reserve), n = hak_min(units, spare);
  if (n >= least) return_units_locked(s, first + (uint32_t)(units - n), n);
  else enter_locked(s);
}

/* How many of the pages may hold data. */
static uint32_t count_dirty(uint32_t page, uint32_t pages) {
  struct masks m = masks_of(page, pages);
  uint32_t dirty = count_bits(m.e->dirty & m.first);
  while (++m.e < m.end) dirty += count_bits(m.e->dirty);
  return dirty + (m.e == m.end ? count_bits(m.e->dirty & m.last) : 0);
}

/* A dirty stretch may have clean pages. Published first: several blocks may be taken under one lock. */
static HAK_NOINLINE bool allows_locked(uint32_t page, uint32_t pages) {
  hak_runs_publish_locked();
  return hak_footprint_allows((uint64_t)(pages - count_dirty(page, pages)) << HAK_PAGE_SHIFT);
}

bool hak_stretch_allows_locked(uint32_t page, uint32_t pages) {
  return HAK_LIKELY(hak_setting(hard_limit) == 0) || allows_locked(page, pages);
}

/* A stretch where no dirty stretch has room. */
static uint32_t find_outside_locked(uint32_t pages, uint32_t align) {
  uint32_t half = grow_locked(pages, false);
  if (half != HAK_NO_HALF || !hak_footprint_allows((uint64_t)pages << HAK_PAGE_SHIFT)) return half;
  half = fit_aligned(false, pages, align);
  return half != HAK_NO_HALF ? half : grow_locked(pages, true);
}

/* The order of pages.h. */
uint32_t hak_stretch_find_locked(uint32_t pages, uint32_t align) {
  uint32_t half = fit_aligned(true, pages, align);
  if (half == HAK_NO_HALF) half = find_outside_locked(pages, align);
  if (half == HAK_NO_HALF) return half;
  return hak_stretch_allows_locked(hak_page_aligned(hak_stretch_of(half).page, align), pages) ? half : HAK_NO_HALF;
}

uint32_t hak_stretch_like_locked(uint32_t pages) {
  unsigned b = bin_with_room(pages);
  return b < HAK_PAGES_BINS - 1 ? g_pages.sort[true].first[b] : HAK_NO_HALF;
}

void hak_stretch_put_locked(uint32_t page, uint32_t pages, bool dirty) {
  return_or_enter_locked(free_locked(page, pages, dirty));
}

/* True if units without pages may extend a block to `all` pages. Not while all free memory is held and the block can
 * move to dirty pages. */
static bool may_take_clean_locked(uint32_t all) {
  if (!hak_holds_all()) return true;
  return fit(true, all) == HAK_NO_HALF && hak_runs_fit_locked(HAK_UNIT_DIRTY, units_of_pages(all)) == HAK_NO_UNIT;
}

bool hak_stretch_reach_locked(uint32_t page, uint32_t more, uint32_t all) {
  uint32_t have = hak_stretch_at(page), end = page + have;
  if (have >= more) return true;
  if (end % HAK_UNIT_PAGES != 0) return false;
  size_t units = units_of_pages(more - have);
  bool clean = may_take_clean_locked(all);
  if (!hak_runs_cut_at_locked(hak_page_unit(end), units, &clean)) return false;
  add_units_locked(hak_page_unit(end), units, clean);
  return hak_stretch_at(page) >= more;
}

/* Makes the dirty run that begins at `first` a stretch. A long run serves any request as it is. */
static void absorb_run_locked(uint32_t first) {
  size_t units = hak_range_entry(first)->length;
  bool clean = false;
  if (units > CHUNK_UNITS || !hak_runs_cut_at_locked(first, units, &clean)) return;
  add_units_locked(first, units, false);
}

/* Not while all free memory is held: then all units return to runs.c. */
void hak_stretch_absorb_locked(uint32_t first, size_t units) {
  uint32_t end = first + (uint32_t)units;
  const struct hak_unit *before = hak_range_entry(first - 1);
  if (hak_holds_all()) return;
  if (before->kind == HAK_UNIT_DIRTY) absorb_run_locked(before->head);
  if (end < g_range.units) absorb_run_locked(end);
}

/* ---- for runs_purge.c and runs.c ---- */

/* Under a hard limit, stretches with clean pages stay: their units would count as dirty whole. */
uint32_t hak_pages_yield_locked(size_t units) {
  if (units > g_runs.dirty_pages / HAK_UNIT_PAGES) return HAK_NO_UNIT;
  uint32_t half = fit_aligned(true, (uint32_t)units * HAK_UNIT_PAGES, HAK_UNIT_PAGES), first;
  if (half == HAK_NO_HALF) return HAK_NO_UNIT;
  size_t n = units_inside(hak_stretch_of(half), &first);
  uint32_t page = first * HAK_UNIT_PAGES, pages = (uint32_t)n * HAK_UNIT_PAGES;
  if (HAK_UNLIKELY(hak_setting(hard_limit) != 0) && count_dirty(page, pages) != pages) return HAK_NO_UNIT;
  return return_units_locked(hak_stretch_withdraw_locked(half), first, n);
}

/* The end of the last dirty page of a stretch; 0: no page is dirty, only the label. */
static uint32_t dirty_end(struct hak_stretch s) {
  for (uint32_t end = s.page + s.pages, first; end > s.page; end = first) {
    first = (uint32_t)hak_max((end - 1) / HAK_UNIT_PAGES * HAK_UNIT_PAGES, s.page);
    uint32_t bits = hak_page_entry(first)->dirty & bits_from(first) & bits_to(end - 1);
    if (bits != 0) return first / HAK_UNIT_PAGES * HAK_UNIT_PAGES + hak_highest_bit(bits) + 1;
  }
  return 0;
}

/* The dirty stretch to be purged next: the shortest with a unit's pages, as more requests fit the long stretches, then
 * the shortest with a block's pages; HAK_NO_HALF: none. */
static uint32_t least_useful_locked(void) {
  uint32_t half = first_from(&g_pages.sort[true], HAK_UNIT_PAGES);
  return half != HAK_NO_HALF ? half : first_from(&g_pages.sort[true], HAK_PAGES_LEAST);
}

/* Withdraws the next stretch to be purged. *end: see dirty_end. No pages: there is none. */
static struct hak_stretch next_dirty_locked(uint32_t *end) {
  for (uint32_t half; (half = least_useful_locked()) != HAK_NO_HALF;) {
    struct hak_stretch s = hak_stretch_withdraw_locked(half);
    if ((*end = dirty_end(s)) != 0) return s;
    s.dirty = false;
    enter_locked(s);
  }
  return (struct hak_stretch){0, 0, false};
}

/* Pages without the lock are no fewer than a block's: so a half has at most one end and one beginning of a stretch. */
struct hak_extent hak_pages_detach_locked(uint64_t most) {
  uint32_t end, wanted = (uint32_t)(hak_round_up(most, hak_max(hak_os_page_bytes(), HAK_UNIT_BYTES)) >> HAK_PAGE_SHIFT);
  struct hak_stretch s = next_dirty_locked(&end);
  if (s.pages == 0) return (struct hak_extent){NULL, 0};
  end = (uint32_t)hak_max(hak_round_up(end, hak_os_page_bytes() >> HAK_PAGE_SHIFT), s.page + HAK_PAGES_LEAST);
  uint32_t pages = (uint32_t)hak_min(end - s.page, wanted), page = end - pages;
  hak_stretch_cut_locked(s, page, pages);
  g_runs.detached += pages;
  return (struct hak_extent){hak_page_address(page), (size_t)pages << HAK_PAGE_SHIFT};
}

size_t hak_pages_short_locked(struct hak_extent *list, size_t most) {
  size_t n = 0;
  for (unsigned b = 1; b < HAK_PAGES_LEAST; b++) {
    for (uint32_t half = g_pages.sort[true].first[b]; half != HAK_NO_HALF && n < most; n++) {
      struct hak_stretch s = hak_stretch_of(half);
      list[n] = (struct hak_extent){hak_page_address(s.page), (size_t)s.pages << HAK_PAGE_SHIFT};
      half = hak_range_paged(half / 2)->link[half % 2].next;
    }
  }
  return n;
}

void hak_pages_cleaned_locked(struct hak_extent x) {
  struct hak_stretch s = hak_stretch_withdraw_locked(hak_page_half(hak_page_of(x.address)));
  g_runs.dirty_pages -= set_used_locked(s.page, s.pages);
  set_free_locked(s.page, s.pages, s.dirty = false);
  enter_locked(s);
}

static bool is_unit_clean(uint32_t unit) {
  uint32_t page = unit * HAK_UNIT_PAGES;
  return hak_page_is_cut(page) && hak_page_entry(page)->pages == ALL_FREE;
}

/* Of the units around a purged piece, those without a used or dirty page go; dirty neighbours stay. */
void hak_pages_attach_locked(struct hak_extent x, bool clean) {
  uint32_t page = hak_page_of(x.address), pages = (uint32_t)(x.bytes >> HAK_PAGE_SHIFT);
  uint32_t first = hak_page_unit(page), end = hak_page_unit(page + pages - 1) + 1;
  hak_runs_count_attached_locked(pages);
  struct hak_stretch s = free_locked(page, pages, !clean);
  while (first < end && !is_unit_clean(first)) first++;
  while (end > first && !is_unit_clean(end - 1)) end--;
  if (!clean || first == end) return enter_locked(s);
  uint32_t run = return_units_locked(s, first, end - first);
  hak_region_cleaned(run, hak_range_entry(run)->length);
}

/* Of the dirty bins, stretches without a dirty page alone: units that return with one would count as dirty whole. */
static void return_from_locked(unsigned dirty, unsigned b) {
  uint32_t next, first;
  for (uint32_t half = g_pages.sort[dirty].first[b]; half != HAK_NO_HALF; half = next) {
    next = hak_range_paged(half / 2)->link[half % 2].next;
    struct hak_stretch s = hak_stretch_of(half);
    size_t units = s.dirty && dirty_end(s) != 0 ? 0 : units_inside(s, &first);
    if (units != 0) return_units_locked(hak_stretch_withdraw_locked(half), first, units);
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
  struct hak_stretch s = {page, 0, false};
  for (; is_page_free(page); page++, s.pages++) {
    bool dirty = hak_page_entry(page)->dirty >> page % HAK_UNIT_PAGES & 1;
    s.dirty |= dirty;
    g_runs.dirty_pages += dirty;
  }
  g_runs.free_pages += s.pages;
  enter_locked(s);
  return page;
}

static bool begins_stretch(uint32_t page) { return is_page_free(page) && !is_page_free(page - 1); }

static void forget_stretches(uint32_t unit) {
  hak_range_paged(unit)->stretch[0] = hak_range_paged(unit)->stretch[1] = 0;
  hak_pages_name_locked(unit);
}

void hak_pages_rebuild_locked(void) {
  g_pages = (struct hak_pages_state){0};
  g_runs.free_pages = g_runs.dirty_pages = 0;
  for (size_t u = 1; (u = hak_range_pass(u)) < g_range.units; u++) {
    if (hak_range_entry((uint32_t)u)->kind == HAK_UNIT_PAGED) forget_stretches((uint32_t)u);
  }
  for (size_t u = 1; (u = hak_range_pass(u)) < g_range.units; u++) {
    uint32_t page = (uint32_t)u * HAK_UNIT_PAGES, end = page + HAK_UNIT_PAGES;
    while (page < end && hak_page_is_cut(page)) page = begins_stretch(page) ? rebuild_stretch_locked(page) : page + 1;
  }
}
