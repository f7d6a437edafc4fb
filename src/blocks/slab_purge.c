/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_purge.c: purges pages inside slabs that hold no live block.
 *
 * what      A sweep visits slabs in order of address. A page whose slots are all free is a hole: the slots are hidden
 *           from the bitmap, the lock is dropped, the page is purged, the slots return to the bitmap.
 *
 *               slots  .x......|........|...x....|........      x: handed out, live or in a magazine
 *               pages     0        1        2        3          1 and 3 are purged; marked in `empty` until a fill
 *
 *           Slabs that were filled from lately are skipped: the program would soon touch the pages again.
 * owner     The slabs of g_slab; a batch belongs to the call.
 * locks     A class lock, not held while pages are purged.
 * orders    Under the lock. A fork while slots are hidden leaks these slots in the child.
 * failure   A page that the kernel refuses to purge is not marked as empty.
 * not here  When to sweep: reclaim/release.c.
 */
#include "base/atomic.h"
#include "blocks/slab_internal.h"
#include "os/os.h"
#include "retain/rent.h"
#include "runs/region.h"
#include "tables/counters.h"

enum { JOBS = HAK_OS_EXTENTS };

struct job {
  uint64_t pages;
  uint32_t unit;
};

struct batch {
  size_t jobs;
  struct job job[JOBS];
};

/* ---- pages and slots ---- */

/* Bits of pages [first, first + n), of at most 64. */
static uint64_t page_bits(size_t first, size_t n) { return n == 0 ? 0 : ~(uint64_t)0 >> (64 - n) << first; }

static unsigned page_shift(void) { return hak_lowest_bit(hak_os_page_bytes()); }

struct slots {
  size_t first, last;
};

/* The slots that overlap n pages from `page` on; first > last if the pages lie behind the last slot. */
static struct slots slots_on(const struct hak_class *class, size_t page, size_t n) {
  size_t from = page << page_shift(), to = from + (n << page_shift()) - 1;
  size_t first = (size_t)(from * class->reciprocal >> HAK_RECIPROCAL_SHIFT);
  size_t last = (size_t)(to * class->reciprocal >> HAK_RECIPROCAL_SHIFT);
  return (struct slots){first, hak_min(last, class->slots - 1)};
}

/* The bits of word w that stand for these slots. */
static uint64_t bits_in(struct slots slots, size_t w) {
  uint64_t bits = ~(uint64_t)0;
  if (w == slots.first / 64) bits &= ~(uint64_t)0 << slots.first % 64;
  if (w == slots.last / 64) bits &= ~(uint64_t)0 >> (63 - slots.last % 64);
  return bits;
}

static bool are_free(const struct hak_unit *s, struct slots slots) {
  if (slots.first > slots.last) return true;
  for (size_t w = slots.first / 64; w <= slots.last / 64; w++) {
    if (~s->words[w] & bits_in(slots, w)) return false;
  }
  return true;
}

static size_t page_count(const struct hak_class *class) {
  return ((size_t)class->units << HAK_UNIT_SHIFT) >> page_shift();
}

uint64_t hak_slab_all_pages(const struct hak_class *class) { return page_bits(0, page_count(class)); }

/* Pages without a handed-out slot, for a class of at most 64 slots: the pages between handed-out slots. */
static uint64_t free_pages_of_few(const struct hak_unit *s, const struct hak_class *class) {
  unsigned shift = page_shift();
  uint64_t out = s->words[0] ^ (~(uint64_t)0 >> (64 - class->slots)), pages = 0;
  size_t from = 0; /* first page behind the previous handed-out slot */
  for (; out != 0; out &= out - 1) {
    size_t start = hak_lowest_bit(out) * (size_t)class->bytes, page = start >> shift;
    if (page > from) pages |= page_bits(from, page - from);
    from = ((start + class->bytes - 1) >> shift) + 1;
  }
  size_t count = page_count(class);
  return count > from ? pages | page_bits(from, count - from) : pages;
}

static uint64_t free_pages_of_many(const struct hak_unit *s, const struct hak_class *class) {
  uint64_t pages = 0;
  for (size_t page = 0, n = page_count(class); page < n; page++) {
    bool known = s->empty >> page & 1;
    if (!known && are_free(s, slots_on(class, page, 1))) pages |= (uint64_t)1 << page;
  }
  return pages;
}

/* Pages that hold no live block and are not marked as empty yet. */
static uint64_t holes_of(const struct hak_unit *s) {
  const struct hak_class *class = &g_class[s->size_class];
  return (class->slots <= 64 ? free_pages_of_few(s, class) : free_pages_of_many(s, class)) & ~s->empty;
}

static uint32_t take_them(struct hak_unit *s, struct slots slots) {
  uint32_t n = 0;
  for (size_t w = slots.first / 64; slots.first <= slots.last && w <= slots.last / 64; w++) {
    uint64_t bits = bits_in(slots, w) & s->words[w];
    n += (uint32_t)__builtin_popcountll(bits);
    hak_store(&s->words[w], s->words[w] & ~bits);
    if (s->words[w] == 0) s->summary &= ~((uint64_t)1 << w);
  }
  return n;
}

static uint32_t put_them(struct hak_unit *s, struct slots slots) {
  uint32_t n = 0;
  for (size_t w = slots.first / 64; slots.first <= slots.last && w <= slots.last / 64; w++) {
    uint64_t bits = bits_in(slots, w) & ~s->words[w];
    n += (uint32_t)__builtin_popcountll(bits);
    hak_store(&s->words[w], s->words[w] | bits);
    s->summary |= (uint64_t)1 << w;
  }
  return n;
}

/* Removes the lowest group of adjacent pages from a set: returns the first page, *n pages. */
static size_t next_run(uint64_t *pages, size_t *n) {
  unsigned first = hak_lowest_bit(*pages);
  uint64_t above = ~(*pages >> first);
  *n = above == 0 ? 64 : hak_lowest_bit(above);
  *pages &= ~page_bits(first, *n);
  return first;
}

/* Moves the slots of these pages out of the bitmap (take_them) or back (put_them); returns the number. */
static uint32_t move_pages(struct hak_unit *s, uint64_t pages, uint32_t (*move)(struct hak_unit *, struct slots)) {
  const struct hak_class *class = &g_class[s->size_class];
  uint32_t moved = 0;
  for (size_t n; pages != 0;) {
    size_t first = next_run(&pages, &n);
    moved += move(s, slots_on(class, first, n));
  }
  return moved;
}

/* ---- a batch ---- */

/* True if the slab lies in a dense huge region that a purge should not split. A sweep without a wait (idle_ticks 0)
 * splits the region. */
static bool lies_in_huge_page(uint32_t unit, uint32_t idle_ticks) {
  size_t units = hak_range_entry(unit)->length;
  if (idle_ticks != 0) return hak_region_keep(unit, units);
  hak_region_break(unit, units);
  return false;
}

/* Hides the slots on the slab's holes, if any, and adds the holes to the batch. False: the batch is full. */
static bool take_holes_locked(struct hak_slab_class *k, struct hak_unit *s, uint32_t idle_ticks, struct batch *batch) {
  if (batch->jobs == JOBS) return false;
  uint64_t pages = holes_of(s);
  uint32_t unit = hak_range_index(s);
  if (pages != 0 && lies_in_huge_page(unit, idle_ticks)) return true;
  hak_store(&s->swept, s->free);
  if (pages == 0) return true;
  uint32_t n = move_pages(s, pages, take_them);
  if (n == 0) return true; /* pages behind the last slot: no hidden slot would keep the slab open meanwhile */
  batch->job[batch->jobs++] = (struct job){pages, unit};
  hak_slab_hide_slots_locked(k, s, n);
  return true;
}

/* True if a visit would likely find no hole in this slab. */
static bool may_skip(const struct hak_unit *s, uint32_t idle_ticks) {
  if (idle_ticks == 0 || hak_load(&s->free) == 0) return hak_load(&s->free) == 0;
  uint16_t idle = (uint16_t)(hak_rent_tick() - hak_load(&s->filled));
  return idle < idle_ticks || hak_load(&s->free) == hak_load(&s->swept);
}

static bool visit_slab(struct hak_unit *s, const struct hak_sweep *sweep, struct batch *batch) {
  unsigned c = hak_load(&s->size_class);
  if (may_skip(s, sweep->idle_ticks)) return true;
  struct hak_slab_class *k = hak_slab_of(c);
  if (k == NULL) return true; /* a sampled slab */
  hak_slab_lock(k, c);
  bool done = !hak_slab_is_of(s, c) || take_holes_locked(k, s, sweep->idle_ticks, batch);
  hak_lock_drop(&k->lock);
  return done;
}

static void fill_batch(struct hak_sweep *sweep, struct batch *batch) {
  size_t units = hak_load_acquire(&g_range.units), u = hak_max(sweep->at, 1), end = hak_min(u + sweep->units, units);
  while ((u = hak_range_pass(u)) < end) {
    struct hak_unit *e = hak_range_entry((uint32_t)u);
    unsigned kind = hak_load_acquire(&e->kind);
    if (kind == HAK_UNIT_SLAB && !visit_slab(e, sweep, batch)) break;
    u += kind == HAK_UNIT_HOLE || kind == HAK_UNIT_TAIL ? 1 : hak_max(hak_load(&e->length), 1);
  }
  sweep->at = u < units ? (uint32_t)u : 0;
}

static void note_refusal_locked(struct hak_unit *s) {
  hak_store(&s->swept, 0);
  hak_rent_refused();
}

/* Purges every group of adjacent pages, also after a refusal. True if all were purged. */
static bool purge_pages(uint32_t unit, uint64_t pages) {
  char *start = hak_range_address(unit);
  bool ok = true;
  for (size_t n; pages != 0;) {
    size_t first = next_run(&pages, &n);
    ok = hak_os_purge(start + (first << page_shift()), n << page_shift()) && ok;
  }
  return ok;
}

/* Returns the slots of a job to the bitmap. Returns the number of pages purged. */
static unsigned finish_job(const struct job *job, bool ok) {
  struct hak_unit *s = hak_range_entry(job->unit);
  unsigned c = s->size_class;
  struct hak_slab_class *k = hak_slab_of(c);
  hak_slab_lock(k, c);
  uint32_t n = move_pages(s, job->pages, put_them);
  if (ok) hak_slab_empty_pages(s, job->pages & ~s->empty); /* not marked by a simultaneous sweep */
  else note_refusal_locked(s);
  s->purged_at = hak_rent_tick();
  hak_slab_unhide_slots_locked(k, s, n);
  hak_lock_drop(&k->lock);
  return ok ? (unsigned)__builtin_popcountll(job->pages) : 0;
}

size_t hak_slab_sweep(struct hak_sweep *sweep) {
  struct batch batch;
  size_t pages = 0;
  batch.jobs = 0;
  fill_batch(sweep, &batch);
  if (batch.jobs == 0) return 0;
  for (size_t i = 0; i < batch.jobs; i++) {
    const struct job *job = &batch.job[i];
    pages += finish_job(job, purge_pages(job->unit, job->pages));
  }
  hak_count(HAK_COUNTER_hole_pages, pages);
  return pages * hak_os_page_bytes();
}

/* ---- used again ---- */

/* The pages that `bytes` bytes of a slab, from `from` on, lie on. */
static uint64_t pages_under(const struct hak_unit *s, const void *from, size_t bytes) {
  size_t offset = (size_t)((uintptr_t)from - (uintptr_t)hak_range_address(hak_range_index(s)));
  unsigned shift = page_shift();
  size_t first = offset >> shift, last = (offset + bytes - 1) >> shift;
  return page_bits(first, last - first + 1);
}

/* Slots taken at random: each block's pages. */
static HAK_NOINLINE uint64_t pages_under_each(const struct hak_unit *s, void *const *out, size_t n) {
  uintptr_t start = (uintptr_t)hak_range_address(hak_range_index(s));
  size_t bytes = g_class[s->size_class].bytes, longest = hak_os_page_bytes();
  unsigned shift = page_shift();
  uint64_t pages = 0;
  for (size_t i = 0; i < n && bytes > longest; i++) pages |= pages_under(s, out[i], bytes);
  for (size_t i = 0; i < n && bytes <= longest; i++) { /* on one page, or on two */
    uintptr_t offset = (uintptr_t)out[i] - start;
    pages |= (uint64_t)1 << (offset >> shift) | (uint64_t)1 << ((offset + bytes - 1) >> shift);
  }
  return pages;
}

void hak_slab_touch(struct hak_unit *s, void *const *out, size_t n) {
  size_t stretch = (size_t)((uintptr_t)out[0] - (uintptr_t)out[n - 1]) + g_class[s->size_class].bytes;
  uint64_t used = pages_under(s, out[n - 1], stretch) & s->empty; /* a fill takes every free slot in this stretch */
  if (HAK_SECURE) used = s->empty == 0 ? 0 : pages_under_each(s, out, n) & s->empty;
  if (used != 0) hak_slab_use_pages(s, used);
  if (used == 0 || (uint16_t)(hak_rent_tick() - s->purged_at) >= HAK_TICKS_PER_SECOND) return;
  hak_count(HAK_COUNTER_hole_again, (uint64_t)__builtin_popcountll(used));
}
