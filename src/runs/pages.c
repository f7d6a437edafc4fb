/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pages.c: blocks of whole pages.
 *
 * what      Blocks are cut out of stretches of free pages, written into the unit table and the class map, and erased.
 *           See pages.h.
 * owner     None: blocks stand in the unit table.
 * locks     g_runs.lock.
 * failure   NULL or 0.
 * not here  Free pages: stretch.h.
 */
#include "runs/pages.h"

#include "os/chance.h"
#include "runs/stretch.h"
#include "tables/classes.h"

/* Of the two halves of a unit. */
HAK_INLINE unsigned half_in_unit(uint32_t page) { return hak_page_half(page) % 2; }

/* ---- blocks ---- */

HAK_INLINE unsigned class_of_block(uint16_t block, uint64_t origin) {
  uint32_t pages = block >> HAK_PLACE_BITS;
  return origin != 0 || pages > HAK_RUN_MAX / HAK_PAGE_BYTES ? 0 : hak_run_class_of_pages(pages);
}

static unsigned class_on(const struct hak_paged *e, unsigned side) {
  return class_of_block(e->block[side], e->origin[side]);
}

/* Writes the class-map byte of a unit. */
void hak_pages_name_locked(uint32_t unit) {
  struct hak_paged *e = hak_range_paged(unit);
  unsigned low = class_on(e, 0), high = class_on(e, 1);
  bool same = low == high || e->block[0] == 0 || e->block[1] == 0;
  hak_store(&g_range.map[unit], (uint8_t)(same ? low | high : 0));
}

HAK_INLINE void write_block_locked(uint32_t page, size_t pages, uint64_t origin) {
  struct hak_paged *e = hak_page_entry(page);
  unsigned side = half_in_unit(page), c = class_of_block((uint16_t)(pages << HAK_PLACE_BITS), origin);
  hak_store(&e->origin[side], origin);
  hak_store_release(&e->block[side], (uint16_t)(pages << HAK_PLACE_BITS | page % HAK_HALF_PAGES));
  bool same = e->block[!side] == 0 || class_on(e, !side) == c;
  hak_store(&g_range.map[hak_page_unit(page)], (uint8_t)(same ? c : 0));
}

HAK_INLINE void erase_block_locked(struct hak_paged *e, uint32_t page) {
  unsigned side = half_in_unit(page);
  hak_store_release(&e->block[side], 0);
  hak_store(&g_range.map[hak_page_unit(page)], (uint8_t)class_on(e, !side));
}

/* The word of the block that begins at p; 0: none. p may be any pointer into the paged unit of e, `page` its page. */
HAK_INLINE uint16_t block_in(const struct hak_paged *e, const void *p, uint32_t page) {
  uint16_t block = hak_load_acquire(&e->block[half_in_unit(page)]);
  bool begins = (uintptr_t)p % HAK_PAGE_BYTES == 0 && (block & HAK_PLACE) == page % HAK_HALF_PAGES;
  return begins ? block : 0;
}

static uint16_t block_at(const void *p) {
  uint32_t page = hak_page_of(p);
  return block_in(hak_page_entry(page), p, page);
}

size_t hak_pages_of(const void *p) { return block_at(p) >> HAK_PLACE_BITS; }

uint64_t hak_pages_origin(const void *p) {
  uint32_t page = hak_page_of(p);
  return hak_load(&hak_page_entry(page)->origin[half_in_unit(page)]);
}

unsigned hak_pages_class(const void *p) {
  uint32_t page = hak_page_of(p);
  const struct hak_paged *e = hak_page_entry(page);
  return class_of_block(block_in(e, p, page), hak_load(&e->origin[half_in_unit(page)]));
}

/* The nearest block that begins at or before p, if p lies inside. */
void *hak_pages_block(const void *p) {
  uint32_t page = hak_page_of(p);
  for (uint32_t half = hak_page_half(page), n = 0; n <= HAK_PAGES_MOST / HAK_HALF_PAGES + 1; half--, n++) {
    if (hak_load_acquire(&hak_range_paged(half / 2)->kind) != HAK_UNIT_PAGED) return NULL;
    uint16_t block = hak_load_acquire(&hak_range_paged(half / 2)->block[half % 2]);
    uint32_t start = half * HAK_HALF_PAGES + (block & HAK_PLACE);
    if (block == 0 || start > page) continue;
    return page - start < block >> HAK_PLACE_BITS ? hak_page_address(start) : NULL;
  }
  return NULL;
}

/* ---- get ---- */

/* Notes that pages without content are about to be used; a misfit if no dirty stretch had room. */
static void note_clean_locked(uint32_t pages, bool misfit) {
  uint64_t bytes = (uint64_t)pages << HAK_PAGE_SHIFT;
  if (misfit) hak_runs_note_misfit_locked(bytes);
  bool counts = hak_setting(mode) > HAK_MODE_BASELINE; /* otherwise the counter's page stays untouched */
  if (HAK_UNLIKELY(counts)) hak_count(HAK_COUNTER_fetched_bytes, bytes);
}

/* Pages cut out of a stretch; pages 0: no memory. */
struct cut {
  uint32_t page, pages, dirty;
};

/* The secure flavour takes a block from either end of a stretch, unless a limit was compared with those in front. */
HAK_INLINE uint32_t either_end(struct hak_stretch s, uint32_t pages) {
  bool back = (hak_chance() & 1) != 0 && hak_setting(hard_limit) == 0;
  return back ? s.page + s.pages - pages : s.page;
}

/* front: right at the stretch's first page. */
HAK_INLINE struct cut take_locked(uint32_t half, uint32_t pages, uint32_t align, bool front) {
  struct hak_stretch s = hak_stretch_withdraw_locked(half);
  struct cut cut = {hak_page_aligned(s.page, align), pages, 0};
  if (HAK_SECURE && !front && align == 1) cut.page = either_end(s, pages);
  cut.dirty = hak_stretch_cut_locked(s, cut.page, pages);
  if (cut.dirty != pages) note_clean_locked(pages - cut.dirty, !s.dirty);
  return cut;
}

HAK_INLINE struct cut take_block_locked(uint32_t pages, uint32_t align, uint64_t origin) {
  uint32_t half = hak_stretch_find_locked(pages, align);
  if (half == HAK_NO_HALF) return (struct cut){0, 0, 0};
  struct cut cut = take_locked(half, pages, align, false);
  write_block_locked(cut.page, pages, origin);
  return cut;
}

static HAK_NOINLINE void undo_take(struct cut cut) {
  hak_runs_lock();
  erase_block_locked(hak_page_entry(cut.page), cut.page);
  hak_stretch_put_locked(cut.page, cut.pages, cut.dirty != 0);
  hak_runs_unlock();
}

/* Without the lock: puts a block with fresh pages back if the hard limit is exceeded now, as another thread took a big
 * block meanwhile. True if there is a block. */
HAK_INLINE bool keeps_limit(struct cut cut) {
  bool over = cut.dirty != cut.pages && hak_footprint_is_over();
  if (HAK_UNLIKELY(over)) undo_take(cut);
  return !over && cut.pages != 0;
}

void *hak_pages_get(size_t pages, size_t align, uint64_t origin, bool *zero) {
  if (pages > HAK_PAGES_MOST || align > HAK_UNIT_PAGES) return NULL;
  uint32_t n = (uint32_t)hak_max(pages, HAK_PAGES_LEAST);
  hak_runs_lock();
  struct cut cut = take_block_locked(n, (uint32_t)align, origin);
  hak_runs_unlock();
  *zero = cut.dirty == 0;
  return keeps_limit(cut) ? hak_page_address(cut.page) : NULL;
}

/* Takes dirty stretches of the shortest bin with room. */
static size_t fill_from_bin_locked(uint32_t pages, void **out, size_t want) {
  size_t n = 0;
  uint32_t half;
  for (; n < want && (half = hak_stretch_like_locked(pages)) != HAK_NO_HALF; n++) {
    if (!hak_stretch_allows_locked(hak_stretch_of(half).page, pages)) break;
    struct cut cut = take_locked(half, pages, 1, false);
    write_block_locked(cut.page, pages, 0);
    out[n] = hak_page_address(cut.page);
  }
  return n;
}

/* Cuts blocks from the stretch right behind `page`, unless many requests missed free memory within T. */
static size_t fill_behind_locked(uint32_t page, uint32_t pages, void **out, size_t want) {
  size_t n = hak_load(&g_footprint.spare) != 0 ? hak_min(want, hak_stretch_at(page) / pages) : 0;
  if (n == 0 || !hak_stretch_of(hak_page_half(page)).dirty) return 0;
  if (!hak_stretch_allows_locked(page, (uint32_t)n * pages)) return 0;
  struct hak_stretch s = hak_stretch_withdraw_locked(hak_page_half(page));
  uint32_t all = (uint32_t)n * pages, dirty = hak_stretch_cut_locked(s, page, all);
  if (dirty != all) note_clean_locked(all - dirty, false);
  for (size_t i = 0; i < n; i++, page += pages) {
    write_block_locked(page, pages, 0);
    out[i] = hak_page_address(page);
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
  uint32_t length = (uint32_t)pages;
  size_t n = 1;
  hak_runs_lock();
  struct cut cut = take_block_locked(length, 1, 0);
  if (want > 1 && cut.dirty != 0) {
    n += fill_from_bin_locked(length, out + n, want - n);
    n += fill_behind_locked(cut.page + length, length, out + n, want - n);
  }
  hak_runs_unlock();
  out[0] = hak_page_address(cut.page);
  if (HAK_UNLIKELY(!keeps_limit(cut))) out[0] = out[--n];
  reverse(out, n);
  if (HAK_SECURE) hak_chance_shuffle(out, n, hak_max(n, 1));
  return n;
}

/* ---- put ---- */

enum hak_error hak_pages_judge(unsigned c, const void *p) {
  bool inside = hak_load_acquire(&hak_page_entry(hak_page_of(p))->kind) == HAK_UNIT_PAGED;
  if (inside && hak_pages_class(p) == c) return HAK_ERROR_none;
  bool interior = inside && hak_pages_of(p) == 0 && hak_pages_block(p) != NULL;
  return interior ? HAK_ERROR_interior : HAK_ERROR_released;
}

/* A block just erased. No pages: none. */
struct erased {
  uint32_t page, pages;
  uint64_t origin;
};

/* Erases the block that begins at p if its class is c. */
HAK_INLINE struct erased erase_class_locked(unsigned c, const void *p) {
  uint32_t page = hak_page_of(p);
  struct hak_paged *e = hak_page_entry(page);
  uint16_t block = HAK_LIKELY(hak_page_is_cut(page)) ? block_in(e, p, page) : 0;
  uint64_t origin = block != 0 ? e->origin[half_in_unit(page)] : 0;
  if (HAK_UNLIKELY(block == 0 || class_of_block(block, origin) != c)) return (struct erased){0, 0, 0};
  erase_block_locked(e, page);
  return (struct erased){page, block >> HAK_PLACE_BITS, origin};
}

size_t hak_pages_put(const void *p, unsigned c, uint64_t *origin) {
  hak_runs_lock();
  struct erased erased = erase_class_locked(c, p);
  if (HAK_LIKELY(erased.pages != 0)) hak_stretch_put_locked(erased.page, erased.pages, true);
  hak_runs_pass_time_locked(erased.pages);
  hak_runs_unlock_after_put();
  *origin = erased.origin;
  return erased.pages;
}

/* Erased pages side by side, not free yet. */
struct joined {
  uint32_t page, pages;
};

/* Joins [page, page + pages) to `whole`, or frees `whole` and begins anew. */
static struct joined join_pages_locked(struct joined whole, uint32_t page, uint32_t pages) {
  if (page == whole.page + whole.pages) return (struct joined){whole.page, whole.pages + pages};
  if (page + pages == whole.page) return (struct joined){page, whole.pages + pages};
  if (whole.pages != 0) hak_stretch_put_locked(whole.page, whole.pages, true);
  return (struct joined){page, pages};
}

size_t hak_pages_put_some(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault) {
  struct joined whole = {0, 0};
  size_t sum = 0;
  hak_runs_lock();
  for (size_t i = 0; i < n; i++) {
    struct erased erased = erase_class_locked(c, blocks[i]);
    bool first = erased.pages == 0 && fault->error == HAK_ERROR_none;
    if (HAK_UNLIKELY(first)) *fault = (struct hak_fault){hak_pages_judge(c, blocks[i]), blocks[i]};
    if (HAK_LIKELY(erased.pages != 0)) whole = join_pages_locked(whole, erased.page, erased.pages);
    sum += erased.pages;
  }
  if (whole.pages != 0) hak_stretch_put_locked(whole.page, whole.pages, true);
  hak_runs_pass_time_locked(sum);
  hak_runs_unlock_after_put();
  return sum;
}

/* ---- the length ---- */

void hak_pages_set_origin(const void *p, uint64_t origin) {
  hak_runs_lock();
  write_block_locked(hak_page_of(p), hak_pages_of(p), origin);
  hak_runs_unlock();
}

static bool grow_block_locked(uint32_t page, uint32_t have, uint32_t pages) {
  uint32_t end = page + have, more = pages - have;
  bool allowed = hak_footprint_allows((uint64_t)more << HAK_PAGE_SHIFT);
  bool there = hak_stretch_at(end) >= more || (allowed && hak_stretch_reach_locked(end, more, pages));
  bool fits = there && hak_stretch_allows_locked(end, more);
  if (fits) take_locked(hak_page_half(end), more, 1, true);
  return fits;
}

bool hak_pages_resize(const void *p, size_t pages) {
  uint32_t page = hak_page_of(p), n = (uint32_t)hak_max(pages, HAK_PAGES_LEAST);
  if (pages > HAK_PAGES_MOST) return false;
  hak_runs_lock();
  uint32_t have = block_at(p) >> HAK_PLACE_BITS;
  bool ok = n <= have || grow_block_locked(page, have, n);
  if (ok) write_block_locked(page, n, hak_pages_origin(p));
  if (n < have) hak_stretch_put_locked(page + n, have - n, true);
  hak_runs_unlock();
  return ok;
}

void hak_pages_adopt(uint32_t unit, size_t pages, uint64_t origin) {
  hak_runs_lock();
  size_t units = hak_range_entry(unit)->length;
  uint32_t page = unit * HAK_UNIT_PAGES, rest = (uint32_t)(units * HAK_UNIT_PAGES - pages);
  for (size_t i = units; i-- > 0;) hak_stretch_cut_unit(unit + (uint32_t)i);
  write_block_locked(page, pages, origin);
  if (rest != 0) hak_stretch_put_locked(page + (uint32_t)pages, rest, true);
  hak_stretch_absorb_locked(unit, units);
  hak_runs_unlock();
}
