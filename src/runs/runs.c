/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runs.c: runs of units.
 *
 * what      Bins of free runs by length: one bin per length up to 32 units, then eight per doubling. Get, split, merge.
 *           Dirty runs are also linked by age. See runs.h.
 *
 *               oldest <-> ... <-> youngest      a merged run takes the place of its larger part
 *
 * owner     g_runs.
 * locks     g_runs.lock. After a takeover (os/lock.h) bins and queue are rebuilt from the unit table.
 * failure   HAK_NO_UNIT.
 * not here  When memory is released: reclaim/release.c. How: runs_purge.c.
 */
#include "runs/runs.h"

#include "os/die.h"
#include "os/os.h"
#include "retain/footprint.h"
#include "runs/guards.h"
#include "runs/region.h"
#include "runs/runs_internal.h"
#include "tables/counters.h"
#include "tables/state.h"

enum { EXACT = 32, EXACT_LOG = 5, FIT_TRIES = 16, ALIGNED_TRIES = 32 };

HAK_TABLE_AT(1) struct hak_runs_state g_runs;
HAK_RARE struct hak_runs_bins g_runs_unmapped;

/* The bin of runs of this length. */
static unsigned bin_of_length(size_t units) {
  if (units < EXACT) return (unsigned)units;
  unsigned high = hak_highest_bit(units);
  return EXACT + (high - EXACT_LOG) * 8 + ((unsigned)(units >> (high - 3)) & 7);
}

/* The lowest bin of which every run has at least this length. */
static unsigned bin_that_fits(size_t units) {
  if (units < EXACT) return (unsigned)units;
  return bin_of_length(units + ((size_t)1 << (hak_highest_bit(units) - 3)) - 1);
}

static struct hak_runs_bins *bins_of(unsigned kind) {
  if (HAK_UNLIKELY(kind == HAK_UNIT_UNMAPPED)) return &g_runs_unmapped;
  return kind == HAK_UNIT_CLEAN ? &g_runs.clean : &g_runs.dirty;
}

/* How many units the free runs of a kind have. */
static uint64_t *units_of(unsigned kind) { return &g_runs.units[kind - HAK_UNIT_CLEAN]; }

static bool is_free(const struct hak_unit *e) { return e->kind >= HAK_UNIT_CLEAN && e->kind <= HAK_UNIT_UNMAPPED; }

HAK_INLINE void link_run(uint32_t first) {
  struct hak_unit *e = hak_range_entry(first);
  struct hak_runs_bins *bins = bins_of(e->kind);
  unsigned b = bin_of_length(e->length);
  e->previous = HAK_NO_UNIT;
  e->next = bins->first[b];
  if (e->next != HAK_NO_UNIT) hak_range_entry(e->next)->previous = first;
  bins->first[b] = first;
  bins->filled[b / 64] |= (uint64_t)1 << b % 64;
  *units_of(e->kind) += e->length;
}

/* A neighbour that does not point back means that the table was overwritten: ends the program. */
HAK_INLINE void check_links(uint32_t first, uint32_t list) {
  const struct hak_unit *e = hak_range_entry(first);
  bool ahead = e->next == HAK_NO_UNIT || (e->next < g_range.units && hak_range_entry(e->next)->previous == first);
  bool behind = e->previous == HAK_NO_UNIT
                    ? list == first
                    : e->previous < g_range.units && hak_range_entry(e->previous)->next == first;
  if (HAK_UNLIKELY(!ahead || !behind)) hak_die(HAK_ERROR_torn, hak_range_address(first), 0, NULL);
}

HAK_INLINE void unlink_run(uint32_t first) {
  struct hak_unit *e = hak_range_entry(first);
  struct hak_runs_bins *bins = bins_of(e->kind);
  unsigned b = bin_of_length(e->length);
  check_links(first, bins->first[b]);
  if (e->next != HAK_NO_UNIT) hak_range_entry(e->next)->previous = e->previous;
  if (e->previous != HAK_NO_UNIT) hak_range_entry(e->previous)->next = e->next;
  else bins->first[b] = e->next;
  if (bins->first[b] == HAK_NO_UNIT) bins->filled[b / 64] &= ~((uint64_t)1 << b % 64);
  *units_of(e->kind) -= e->length;
}

/* ---- the queue of dirty runs ---- */

/* Cells in the queue that point to the run between `older` and `newer`. */
static uint32_t *after_older(uint32_t older) {
  return older != HAK_NO_UNIT ? &hak_range_entry(older)->newer : &g_runs.oldest;
}
static uint32_t *before_newer(uint32_t newer) {
  return newer != HAK_NO_UNIT ? &hak_range_entry(newer)->older : &g_runs.youngest;
}

static void enqueue(uint32_t first, uint32_t older, uint32_t newer) {
  struct hak_unit *e = hak_range_entry(first);
  e->older = older;
  e->newer = newer;
  *after_older(older) = *before_newer(newer) = first;
}

static void enqueue_youngest(uint32_t first) { enqueue(first, g_runs.youngest, HAK_NO_UNIT); }

/* `heir` takes the place of the run at `first` in the queue. */
static void inherit(uint32_t heir, uint32_t first) {
  const struct hak_unit *e = hak_range_entry(first);
  enqueue(heir, e->older, e->newer);
}

static void dequeue(uint32_t first) {
  const struct hak_unit *e = hak_range_entry(first);
  *after_older(e->older) = e->newer;
  *before_newer(e->newer) = e->older;
}

/* A cut leaves `front` units at `first` and `back` units at `after`: the remainders keep the run's place. */
static void requeue(uint32_t first, size_t front, uint32_t after, size_t back) {
  const struct hak_unit *e = hak_range_entry(first);
  if (back != 0 && front != 0) enqueue(after, first, e->newer);
  else if (back != 0) inherit(after, first);
  else if (front == 0) dequeue(first);
}

/* ---- making and merging runs ---- */

/* Writes the facts of a free run, those of the first unit last, and links the run into its bin. */
static void make_free(uint32_t first, size_t units, enum hak_unit_kind kind) {
  struct hak_unit *last = hak_range_entry(first + (uint32_t)units - 1);
  struct hak_unit *e = hak_range_entry(first);
  hak_store(&last->head, first);
  hak_store(&last->kind, (uint8_t)kind);
  hak_store(&e->head, first);
  hak_store_release(&e->length, (uint32_t)units);
  hak_store_release(&e->kind, (uint8_t)kind);
  link_run(first);
}

/* Extends a free run at its end. False, unchanged: the longer run belongs to a different bin. */
HAK_INLINE bool extend_end(uint32_t first, size_t more, enum hak_unit_kind kind) {
  struct hak_unit *e = hak_range_entry(first);
  size_t units = e->length + more;
  if (bin_of_length(units) != bin_of_length(e->length)) return false;
  if (e->length > 1) hak_store(&e[e->length - 1].kind, HAK_UNIT_TAIL);
  hak_store(&e[units - 1].head, first);
  hak_store(&e[units - 1].kind, (uint8_t)kind);
  hak_store_release(&e->length, (uint32_t)units);
  *units_of(kind) += more;
  return true;
}

/* Changes a free run to begin at `start` and to have `units` units: shorter or longer at the front. False, unchanged:
 * the new length belongs to a different bin. */
HAK_INLINE bool move_front(uint32_t first, uint32_t start, size_t units) {
  struct hak_unit *e = hak_range_entry(first), *now = hak_range_entry(start);
  struct hak_runs_bins *bins = bins_of(e->kind);
  unsigned b = bin_of_length(units);
  if (b != bin_of_length(e->length)) return false;
  check_links(first, bins->first[b]);
  now->next = e->next;
  now->previous = e->previous;
  if (e->next != HAK_NO_UNIT) hak_range_entry(e->next)->previous = start;
  if (e->previous != HAK_NO_UNIT) hak_range_entry(e->previous)->next = start;
  else bins->first[b] = start;
  *units_of(e->kind) += units - e->length;
  hak_store(&now[units - 1].head, start);
  hak_store(&now->head, start);
  hak_store_release(&now->length, (uint32_t)units);
  hak_store_release(&now->kind, e->kind);
  return true;
}

/* Marks [first, first + units) as in use. */
static void make_used(uint32_t first, size_t units, enum hak_unit_kind kind, unsigned c) {
  struct hak_unit *e = hak_range_entry(first);
  for (size_t i = 1; i < units; i++) {
    hak_store(&e[i].head, first);
    hak_store(&e[i].kind, HAK_UNIT_TAIL);
  }
  hak_store(&e->head, first);
  hak_store(&e->size_class, (uint8_t)c);
  hak_store_release(&e->length, (uint32_t)units);
  hak_store_release(&e->kind, (uint8_t)kind);
}

/* The free run of this sort that ends before, or begins at, a unit; HAK_NO_UNIT if none. */
static uint32_t run_before(uint32_t unit, enum hak_unit_kind kind) {
  const struct hak_unit *e = hak_range_entry(unit - 1);
  return e->kind == kind ? e->head : HAK_NO_UNIT;
}
static uint32_t run_at(uint32_t unit, enum hak_unit_kind kind) {
  return unit < g_range.units && hak_range_entry(unit)->kind == kind ? unit : HAK_NO_UNIT;
}

static size_t length_of(uint32_t first) { return first == HAK_NO_UNIT ? 0 : hak_range_entry(first)->length; }

/* Extends a free run at its front, to begin at `start`. False, unchanged: the longer run belongs to a different bin. */
HAK_INLINE bool stretch_front(uint32_t first, uint32_t start, size_t more, enum hak_unit_kind kind) {
  struct hak_unit *e = hak_range_entry(first);
  if (!move_front(first, start, e->length + more)) return false;
  if (kind == HAK_UNIT_DIRTY) inherit(start, first);
  if (e->length > 1) hak_store(&e->kind, HAK_UNIT_TAIL);
  return true;
}

/* Unlinks a run that is about to be merged; `heir` is the merged run's larger part and stays queued. */
static void absorb(uint32_t first, uint32_t heir) {
  if (first == HAK_NO_UNIT) return;
  unlink_run(first);
  if (first != heir && hak_range_entry(first)->kind == HAK_UNIT_DIRTY) dequeue(first);
  hak_runs_count(HAK_COUNTER_release_merged);
}

/* A unit inside a merged run must not look like the first unit of a block or the end of a free run: a rebuild reads the
 * units of a detached run without knowing the run's beginning. */
uint32_t hak_runs_merge_locked(uint32_t first, size_t units, enum hak_unit_kind kind) {
  hak_store(&hak_range_entry(first)->kind, HAK_UNIT_TAIL);
  uint32_t before = run_before(first, kind), after = run_at(first + (uint32_t)units, kind);
  size_t front = length_of(before), back = length_of(after);
  if (back == 0 && front >= units && extend_end(before, units, kind)) {
    hak_runs_count(HAK_COUNTER_release_merged);
    return before;
  }
  if (front == 0 && back >= units && stretch_front(after, first, units, kind)) {
    hak_runs_count(HAK_COUNTER_release_merged);
    return first;
  }
  uint32_t heir = front >= back ? before : after;
  if (hak_max(front, back) < units) heir = HAK_NO_UNIT; /* the units just freed are the larger part, and young */
  absorb(before, heir);
  absorb(after, heir);
  uint32_t seam = first;
  if (before != HAK_NO_UNIT) first = before;
  make_free(first, front + units + back, kind);
  if (front > 1) hak_store(&hak_range_entry(seam - 1)->kind, HAK_UNIT_TAIL);
  if (back > 1) hak_store(&hak_range_entry(seam + (uint32_t)units)->kind, HAK_UNIT_TAIL);
  if (kind != HAK_UNIT_DIRTY) return first;
  if (heir != HAK_NO_UNIT) inherit(first, heir);
  else enqueue_youngest(first);
  return first;
}

/* After a takeover of the lock in a fork's child: the unit table is the truth. A unit that looks free but heads no run
 * is the last unit of a run whose first unit was not written yet: the run leaks, and must never be merged. */
void hak_runs_rebuild(void) {
  g_runs.clean = g_runs.dirty = g_runs_unmapped = (struct hak_runs_bins){0};
  for (unsigned sort = 0; sort < HAK_RUNS_SORTS; sort++) g_runs.units[sort] = 0;
  g_runs.oldest = g_runs.youngest = HAK_NO_UNIT;
  hak_runs_leak_detached_locked();
  for (size_t u = 1; (u = hak_range_pass(u)) < g_range.units;) {
    struct hak_unit *e = hak_range_entry((uint32_t)u);
    bool counts = e->kind != HAK_UNIT_HOLE && e->kind != HAK_UNIT_TAIL && e->head == u && e->length != 0;
    if (is_free(e) && counts) make_free((uint32_t)u, e->length, e->kind);
    if (e->kind == HAK_UNIT_DIRTY && counts) enqueue_youngest((uint32_t)u);
    if (is_free(e) && !counts) hak_store(&e->kind, HAK_UNIT_TAIL);
    u += counts ? e->length : 1;
  }
  hak_pages_rebuild_locked();
}

/* A run of at least `units` units in a bin that also holds shorter runs: tries the first FIT_TRIES. */
static uint32_t fit_in_bin_locked(const struct hak_runs_bins *bins, unsigned b, size_t units) {
  uint32_t first = bins->first[b];
  for (unsigned n = 0; n < FIT_TRIES && first != HAK_NO_UNIT; n++) {
    if (hak_range_entry(first)->length >= units) return first;
    first = hak_range_entry(first)->next;
  }
  return HAK_NO_UNIT;
}

/* The first non-empty bin from b on; HAK_RUNS_BINS if none. */
HAK_INLINE unsigned filled_bin(const struct hak_runs_bins *bins, unsigned b) {
  uint64_t left = b < HAK_RUNS_BINS ? bins->filled[b / 64] & ~(uint64_t)0 << b % 64 : 0;
  for (unsigned w = b / 64; w < HAK_RUNS_WORDS; left = ++w < HAK_RUNS_WORDS ? bins->filled[w] : 0) {
    if (left != 0) return w * 64 + hak_lowest_bit(left);
  }
  return HAK_RUNS_BINS;
}

uint32_t hak_runs_fit_locked(enum hak_unit_kind kind, size_t units) {
  const struct hak_runs_bins *bins = bins_of(kind);
  if (*units_of(kind) < units) return HAK_NO_UNIT;
  uint32_t own = units < EXACT ? HAK_NO_UNIT : fit_in_bin_locked(bins, bin_of_length(units), units);
  if (own != HAK_NO_UNIT) return own;
  unsigned b = filled_bin(bins, bin_that_fits(units));
  if (HAK_SECURE && b < HAK_RUNS_BINS) return hak_guards_any_of(bins->first[b]);
  return b < HAK_RUNS_BINS ? bins->first[b] : HAK_NO_UNIT;
}

uint32_t hak_runs_longest_locked(enum hak_unit_kind kind, size_t units) {
  const struct hak_runs_bins *bins = bins_of(kind);
  unsigned w = HAK_RUNS_WORDS - 1;
  while (w > 0 && bins->filled[w] == 0) w--;
  if (bins->filled[w] == 0) return HAK_NO_UNIT;
  uint32_t first = bins->first[w * 64 + hak_highest_bit(bins->filled[w])];
  return hak_range_entry(first)->length >= units ? first : HAK_NO_UNIT;
}

/* The first unit, from `first` on, whose address is a multiple of `align` units. */
static uint32_t aligned_unit(uint32_t first, size_t align) {
  uintptr_t start = hak_round_up((uintptr_t)hak_range_address(first), (uintptr_t)align << HAK_UNIT_SHIFT);
  return (uint32_t)hak_range_unit_of((void *)start);
}

/* A run with room for `units` units at this alignment, of runs too short for every start: tries ALIGNED_TRIES. */
static HAK_NOINLINE uint32_t fit_tightly_locked(enum hak_unit_kind kind, size_t units, size_t align) {
  const struct hak_runs_bins *bins = bins_of(kind);
  unsigned end = bin_that_fits(units + align - 1), looks = 0;
  end = end < HAK_RUNS_BINS ? end : HAK_RUNS_BINS;
  for (unsigned b = filled_bin(bins, bin_of_length(units)); b < end; b = filled_bin(bins, b + 1)) {
    for (uint32_t first = bins->first[b]; first != HAK_NO_UNIT; first = hak_range_entry(first)->next) {
      if (aligned_unit(first, align) + units <= first + hak_range_entry(first)->length) return first;
      if (++looks == ALIGNED_TRIES) return HAK_NO_UNIT;
    }
  }
  return HAK_NO_UNIT;
}

HAK_INLINE uint32_t fit_locked(enum hak_unit_kind kind, size_t units, size_t align) {
  uint32_t first = HAK_UNLIKELY(align != 1) ? fit_tightly_locked(kind, units, align) : HAK_NO_UNIT;
  return first != HAK_NO_UNIT ? first : hak_runs_fit_locked(kind, units + align - 1);
}

/* Cuts [at, at + units) out of the free run that begins at `first`. The remainders stay free and keep their age. */
HAK_INLINE void cut_locked(uint32_t first, uint32_t at, size_t units, enum hak_unit_kind kind, unsigned c) {
  struct hak_unit *e = hak_range_entry(first);
  enum hak_unit_kind sort = e->kind;
  uint32_t after = at + (uint32_t)units;
  size_t front = at - first, back = e->length - front - units;
  bool shifted = front == 0 && back != 0 && move_front(first, after, back);
  if (!shifted) unlink_run(first);
  if (!shifted && back != 0) make_free(after, back, sort);
  if (sort == HAK_UNIT_DIRTY) requeue(first, front, after, back);
  make_used(at, units, kind, c);
  if (front != 0) make_free(first, front, sort);
}

/* ---- addresses without memory ---- */

/* Maps unmapped units again. *taken: a mapping that is not HAKMEM's lies there. */
static bool map_again_locked(uint32_t first, size_t units, bool *taken) {
  size_t bytes = units << HAK_UNIT_SHIFT;
  if (!hak_os_map_at(hak_range_address(first), bytes, taken)) return false;
  hak_store(&g_range.mapped, g_range.mapped + bytes);
  hak_region_grown(first, units);
  return true;
}

/* Maps `most` units, just cut out of an unmapped run, again; if the kernel refuses, only the `units` needed, and the
 * rest stays unmapped. Returns the clean run with these units; HAK_NO_UNIT on failure, and with *taken the units become
 * holes for good. */
static uint32_t map_some_locked(uint32_t at, size_t units, size_t most, bool *taken) {
  size_t n = most;
  bool ok = map_again_locked(at, n, taken);
  if (!ok && n != units) ok = map_again_locked(at, n = units, taken);
  if (n != most) hak_runs_merge_locked(at + (uint32_t)n, most - n, HAK_UNIT_UNMAPPED);
  if (ok) return hak_runs_merge_locked(at, n, HAK_UNIT_CLEAN);
  for (size_t i = 0; *taken && i < n; i++) hak_store(&hak_range_entry(at + (uint32_t)i)->kind, HAK_UNIT_HOLE);
  if (!*taken) hak_runs_merge_locked(at, n, HAK_UNIT_UNMAPPED);
  return HAK_NO_UNIT;
}

/* Maps a part of an unmapped run again and returns a clean run with room for `units` units at this alignment. The part
 * is longer than needed, as each time costs two kernel calls. HAK_NO_UNIT: no such run, or no memory. */
static HAK_NOINLINE uint32_t revive_locked(size_t units, size_t align) {
  enum { PART = 8, LEAST = 16, MOST = 512 };
  size_t step = hak_min(hak_max((g_range.mapped >> HAK_UNIT_SHIFT) / PART, LEAST), MOST);
  uint32_t run = HAK_NO_UNIT, gone;
  bool taken = true;
  while (run == HAK_NO_UNIT && taken && (gone = fit_locked(HAK_UNIT_UNMAPPED, units, align)) != HAK_NO_UNIT) {
    uint32_t at = aligned_unit(gone, align);
    size_t most = hak_min(hak_max(units, step), gone + length_of(gone) - at);
    cut_locked(gone, at, most, HAK_UNIT_TAIL, 0);
    run = map_some_locked(at, units, most, &taken);
  }
  return run;
}

/* Takes, in this order: memory with pages (runs, then stretches), memory without pages, unmapped addresses, new
 * addresses. */
HAK_INLINE uint32_t find_locked(size_t units, size_t align, bool rather_clean) {
  uint32_t first = HAK_NO_UNIT;
  bool allowed = hak_footprint_allows(units << HAK_UNIT_SHIFT);
  if (rather_clean && allowed) first = fit_locked(HAK_UNIT_CLEAN, units, align);
  if (first == HAK_NO_UNIT) first = fit_locked(HAK_UNIT_DIRTY, units, align);
  if (first == HAK_NO_UNIT && g_runs.dirty_pages != 0) first = hak_pages_yield_locked(units + align - 1);
  if (first != HAK_NO_UNIT) return first;
  if (!allowed) return HAK_NO_UNIT;
  first = fit_locked(HAK_UNIT_CLEAN, units, align);
  if (first == HAK_NO_UNIT && HAK_UNLIKELY(*units_of(HAK_UNIT_UNMAPPED) != 0)) first = revive_locked(units, align);
  if (first != HAK_NO_UNIT) return first;
  if (HAK_SECURE) return hak_guards_grow_locked(units, align);
  size_t count;
  if (!hak_range_grow(units + align - 1, &first, &count)) return HAK_NO_UNIT;
  hak_runs_set_rent_locked();
  hak_region_grown(first, count);
  return hak_runs_merge_locked(first, count, HAK_UNIT_CLEAN);
}

/* ---- units for pages.c ---- */

/* Most of the range has no pages: new addresses, cut as short, would let the range and the mappings grow for ever. */
static bool are_addresses_idle_locked(void) {
  return (*units_of(HAK_UNIT_CLEAN) + *units_of(HAK_UNIT_UNMAPPED)) * 2 > g_range.units;
}

/* The tightest run without pages, at no new addresses. */
static HAK_NOINLINE uint32_t find_idle_locked(size_t units) {
  if (!hak_footprint_allows(units << HAK_UNIT_SHIFT)) return HAK_NO_UNIT;
  uint32_t first = fit_locked(HAK_UNIT_CLEAN, units, 1);
  return first != HAK_NO_UNIT ? first : revive_locked(units, 1);
}

uint32_t hak_runs_cut_locked(size_t need, size_t *units, bool *clean) {
  uint32_t first = hak_runs_fit_locked(HAK_UNIT_DIRTY, *units);
  if (first == HAK_NO_UNIT) first = hak_runs_fit_locked(HAK_UNIT_DIRTY, need);
  if (first == HAK_NO_UNIT && *clean && are_addresses_idle_locked()) first = find_idle_locked(need);
  if (first == HAK_NO_UNIT && *clean) first = find_locked(*units, 1, true);
  if (first == HAK_NO_UNIT && *clean && need != *units) first = find_locked(need, 1, true);
  if (first == HAK_NO_UNIT) return first;
  *units = hak_min(*units, length_of(first));
  *clean = hak_range_entry(first)->kind != HAK_UNIT_DIRTY;
  cut_locked(first, first, *units, HAK_UNIT_TAIL, 0);
  return first;
}

bool hak_runs_cut_at_locked(uint32_t first, size_t units, bool *clean) {
  if (first >= g_range.units) return false;
  const struct hak_unit *e = hak_range_entry(first);
  bool dirty = e->kind == HAK_UNIT_DIRTY, serves = dirty || (*clean && e->kind == HAK_UNIT_CLEAN);
  if (!serves || e->head != first || e->length < units) return false; /* a run's last unit has a kind, too */
  *clean = !dirty;
  cut_locked(first, first, units, HAK_UNIT_TAIL, 0);
  return true;
}

HAK_INLINE void use_clean(uint32_t first, size_t units, size_t opened) {
  hak_runs_use_clean_locked(first, units, opened);
  bool counts = hak_setting(mode) > HAK_MODE_BASELINE; /* otherwise the counter's page stays untouched */
  if (HAK_UNLIKELY(counts)) hak_count(HAK_COUNTER_fetched_bytes, units << HAK_UNIT_SHIFT);
}

/* o: NULL, or a region that the units begin may be opened. */
HAK_INLINE uint32_t get_locked(size_t units, size_t align, enum hak_unit_kind kind, unsigned c, bool *clean,
                               struct hak_opened *o) {
  uint32_t first = find_locked(units, align, *clean);
  if (first == HAK_NO_UNIT) return HAK_NO_UNIT;
  uint32_t at = align == 1 ? first : aligned_unit(first, align);
  if (HAK_SECURE && align == 1) at = hak_guards_place_locked(first, units);
  enum hak_unit_kind sort = hak_range_entry(first)->kind;
  if (sort != HAK_UNIT_DIRTY && !*clean) hak_runs_note_misfit_locked(units << HAK_UNIT_SHIFT);
  *clean = sort != HAK_UNIT_DIRTY;
  cut_locked(first, at, units, kind, c);
  if (sort != HAK_UNIT_DIRTY) use_clean(at, units, o != NULL ? hak_runs_open_locked(at, units, o) : 0);
  return at;
}

static HAK_NOINLINE uint32_t back_out(uint32_t first, struct hak_opened *opened) {
  if (opened != NULL && opened->units != 0) hak_runs_close_opened(opened);
  hak_runs_put_clean(first);
  return HAK_NO_UNIT;
}

/* While all free memory is held, fetches the pages that the program may first touch later, when no page may be fetched
 * any more: all pages of a slab, and the last unit of a large block, whose end may lie beyond the requested bytes and
 * serve a later block. The rest of a large block is the program's to touch. */
static HAK_NOINLINE void fetch_held(uint32_t at, size_t units, enum hak_unit_kind kind, bool *clean) {
  size_t left = kind == HAK_UNIT_SLAB ? 0 : units - 1;
  if (!*clean) return;
  bool fetched = hak_os_populate(hak_range_address(at + (uint32_t)left), (units - left) << HAK_UNIT_SHIFT, true);
  if (left == 0) *clean = !fetched;
}

uint32_t hak_runs_get(size_t units, size_t align, enum hak_unit_kind kind, unsigned c, bool *clean,
                      struct hak_opened *opened) {
  if (units > UINT32_MAX / 2 || align > UINT32_MAX / 2) return HAK_NO_UNIT;
  bool held = hak_holds_all();
  if (held) *clean = false;
  hak_runs_lock();
  uint32_t at = get_locked(units, align, kind, c, clean, opened);
  hak_runs_unlock();
  if (at != HAK_NO_UNIT && *clean && hak_footprint_is_over()) return back_out(at, opened);
  if (held && at != HAK_NO_UNIT) fetch_held(at, units, kind, clean);
  return at;
}

/* ---- at the end ---- */

/* The last position for `units` units in this free run, at the alignment. */
static uint32_t highest_unit(uint32_t first, size_t units, size_t align) {
  uint32_t at = first + hak_range_entry(first)->length - (uint32_t)units;
  uintptr_t start = (uintptr_t)hak_range_address(at), bytes = (uintptr_t)align << HAK_UNIT_SHIFT;
  return (uint32_t)hak_range_unit_of((void *)(start & -bytes));
}

/* True if most dirty memory lies outside this run and serves first. Otherwise long-lived blocks would use up the
 * longest run, and the memory freed between these blocks would lie idle. */
static bool is_small_part_locked(uint32_t first) {
  enum { PART = 4 };
  return length_of(first) < *units_of(HAK_UNIT_DIRTY) / PART;
}

static uint32_t get_high_locked(size_t units, size_t align, enum hak_unit_kind kind, unsigned c, bool *clean) {
  size_t most = units + align - 1;
  uint32_t first = hak_runs_longest_locked(HAK_UNIT_DIRTY, most);
  if (first == HAK_NO_UNIT) first = hak_pages_yield_locked(most);
  *clean = first == HAK_NO_UNIT || hak_range_entry(first)->kind != HAK_UNIT_DIRTY;
  if (!*clean && is_small_part_locked(first)) return HAK_NO_UNIT;
  bool allowed = *clean && hak_footprint_allows(units << HAK_UNIT_SHIFT);
  if (*clean) first = allowed ? hak_runs_longest_locked(HAK_UNIT_CLEAN, most) : HAK_NO_UNIT;
  if (first == HAK_NO_UNIT) return HAK_NO_UNIT;
  uint32_t at = highest_unit(first, units, align);
  if (*clean) hak_runs_note_misfit_locked(units << HAK_UNIT_SHIFT);
  cut_locked(first, at, units, kind, c);
  if (*clean) use_clean(at, units, 0);
  return at;
}

/* No run at the high end: hak_runs_get serves. While all free memory is held, always: memory with pages comes first. */
uint32_t hak_runs_get_high(size_t units, size_t align, enum hak_unit_kind kind, unsigned c, bool *clean) {
  if (units > UINT32_MAX / 2 || align > UINT32_MAX / 2) return HAK_NO_UNIT;
  bool held = hak_holds_all();
  hak_runs_lock();
  uint32_t at = held ? HAK_NO_UNIT : get_high_locked(units, align, kind, c, clean);
  hak_runs_unlock();
  if (at == HAK_NO_UNIT) return *clean = false, hak_runs_get(units, align, kind, c, clean, NULL);
  return *clean && hak_footprint_is_over() ? back_out(at, NULL) : at;
}

/* True if pages may be fetched to extend a run to `all` units, in place. False while free memory is held and a dirty
 * run has room for all of it. */
static bool may_fetch_locked(size_t all, size_t more) {
  bool other = hak_holds_all() && hak_runs_fit_locked(HAK_UNIT_DIRTY, all) != HAK_NO_UNIT;
  return !other && hak_footprint_allows(more << HAK_UNIT_SHIFT);
}

/* True if the run at `after` can extend a run of `units` units by `more`. A clean run counts as a fetch of pages. */
static bool may_extend_locked(uint32_t after, size_t units, size_t more) {
  if (after >= g_range.units) return false;
  const struct hak_unit *e = hak_range_entry(after);
  bool dirty = e->kind == HAK_UNIT_DIRTY, clean = e->kind == HAK_UNIT_CLEAN;
  return e->length >= more && (dirty || (clean && may_fetch_locked(units + more, more)));
}

bool hak_runs_extend(uint32_t first, size_t more) {
  hak_runs_lock();
  struct hak_unit *e = hak_range_entry(first);
  uint32_t after = first + e->length;
  bool ok = may_extend_locked(after, e->length, more);
  bool clean = ok && hak_range_entry(after)->kind != HAK_UNIT_DIRTY;
  if (ok) {
    if (clean) use_clean(after, more, 0);
    cut_locked(after, after, more, HAK_UNIT_TAIL, 0);
    make_used(first, e->length + more, e->kind, e->size_class);
  }
  hak_runs_unlock();
  if (hak_holds_all()) fetch_held(after, more, HAK_UNIT_LARGE, &clean);
  return ok;
}

void hak_runs_detach_locked(uint32_t first, uint32_t at, size_t units) {
  struct hak_unit *e = hak_range_entry(first);
  enum hak_unit_kind sort = e->kind;
  uint32_t after = at + (uint32_t)units;
  size_t front = at - first, back = e->length - front - units;
  unlink_run(first);
  hak_store(&hak_range_entry(after - 1)->kind, HAK_UNIT_TAIL);
  if (back != 0) make_free(after, back, sort);
  if (sort == HAK_UNIT_DIRTY) requeue(first, front, after, back);
  if (front != 0) make_free(first, front, sort);
  hak_store(&hak_range_entry(at)->kind, HAK_UNIT_TAIL);
  g_runs.detached += units * HAK_UNIT_PAGES;
}
