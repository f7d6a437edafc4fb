/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* range.c: the address range, its class map and its unit table.
 *
 * what      Choosing the place, growing, skipping foreign mappings; see range.h for the drawing. The page behind the
 *           last unit, the tail, belongs to no block: the range grows from there.
 * owner     g_range.
 * locks     Lock: g_runs.lock held by all functions that write.
 * orders    `units` is stored with release, after the place and the tables; a gap before the mapped end behind it.
 * hot path  No; the inline readers in range.h are.
 * failure   False, with no half-built state: the next attempt uses tables that grew before the range failed to grow.
 * not here  Free runs: runs/runs.h.
 */
#include "tables/range.h"

#include "os/chance.h"
#include "os/os.h"
#include "tables/apart.h"
#include "tables/hold.h"
#include "tables/state.h"

HAK_ARCH_NEAR_ALIGN struct hak_range g_range = {.base = (uintptr_t)1 << 63};

enum {
  FIRST_STEP_UNITS = 16,    /* 1 MiB */
  LARGEST_STEP_UNITS = 512, /* 32 MiB */
  REGION_UNITS = 32,        /* 2 MiB: longer steps end where a huge page may begin */
  STEP_END_UNITS = HAK_SECURE ? 2 * REGION_UNITS : REGION_UNITS, /* or behind a guard (runs/guards.h) */
  LARGEST_SKIP_UNITS = 1 << 16,  /* 4 GiB; skipped units have entries up to here */
  FARTHEST_SKIP_UNITS = 1 << 26, /* 4 TiB */
  SKIPS = 16,
  TABLE_STEP = 64 << 10
};

/* Where a range may start, in order of preference: log2 of a window's lowest address and of its length. The first
 * window ends below a third of the address space: the kernel maps upwards from there in a process with an unlimited
 * stack. The further windows serve emulators and kernels with small address spaces. ThreadSanitizer uses the addresses
 * of the first two windows for itself. */
static const struct window {
  unsigned low_log, room_log;
} windows[] = {{44, 44}, {40, 38}, {36, 35}, {33, 32}};
static_assert(((uint64_t)5 << 43) + ((uint64_t)1 << 37) < ((uint64_t)1 << 47) / 3, "low, room, half of it, and tables");

enum { WINDOWS = sizeof windows / sizeof windows[0], FIRST_WINDOW = HAK_TSAN ? 2 : 0, TRIES = 4 };

/* The secure flavour: no address of a block tells where a table is. */
HAK_INLINE void place_tables_apart(const struct window *w) {
  size_t room = ((size_t)1 << w->room_log >> 11) + TABLE_STEP;
  g_range.map = (uint8_t *)hak_apart_place(w->low_log, 0, room);
  g_range.unit = (struct hak_unit *)hak_apart_place(w->low_log, 1, room);
}

/* Places both tables and the range in a window, at a random address: 1/2 of the window is the range, the unit table
 * takes 1/1024 of this half, the class map 1/65536. Returns the address of the range. */
static uintptr_t place_window(const struct window *w, uint64_t random) {
  uint64_t room = (uint64_t)1 << w->room_log;
  uint64_t start = ((uint64_t)1 << w->low_log) + (random % room & ~(((uint64_t)1 << 21) - 1));
  g_range.map = (uint8_t *)(uintptr_t)start;
  g_range.unit = (struct hak_unit *)(uintptr_t)(start + (room >> 17) + TABLE_STEP);
  if (HAK_SECURE) place_tables_apart(w);
  return (uintptr_t)hak_round_up(start + (room >> 8), (size_t)STEP_END_UNITS << HAK_UNIT_SHIFT);
}

/* Units that the range skipped, for hak_range_extents. Without a free entry, skipped units count as the range's. */
static HAK_RARE struct {
  size_t n;
  uint32_t first[SKIPS], end[SKIPS];
} g_skips;

static HAK_NOINLINE void note_skip(uint32_t first, uint32_t end) {
  size_t n = g_skips.n;
  if (n == SKIPS) return;
  hak_store(&g_skips.first[n], first);
  hak_store(&g_skips.end[n], end);
  hak_store_release(&g_skips.n, n + 1);
}

/* Extends the mapped part of a table to `bytes`, in place. *taken: a foreign mapping is in the way. */
static bool extend_table(void *table, size_t *mapped, size_t bytes, bool *taken) {
  *taken = false;
  if (bytes <= *mapped) return true;
  size_t more = hak_round_up(bytes - *mapped, hak_max(TABLE_STEP, hak_os_page_bytes()));
  char *end = (char *)table + *mapped;
  bool longer = hak_os_map_at(end, more, taken) || (*mapped != 0 && !*taken && hak_os_extend(end, more));
  if (!longer) return false;
  hak_store_release(mapped, *mapped + more);
  hak_fence();
  if (hak_holds_all()) hak_os_populate(end, more, true);
  return true;
}

/* ---- gaps ---- */

HAK_TABLE struct hak_range_gaps g_range_gaps;

size_t hak_range_gap_end(size_t u) {
  const struct hak_range_gaps *g = &g_range_gaps;
  for (size_t i = 0, n = hak_load_acquire(&g->n); i < n; i++) {
    if (u >= hak_load(&g->first[i]) && u < hak_load(&g->end[i])) return hak_load(&g->end[i]);
  }
  return u;
}

static void note_gap(size_t from_bytes, size_t to_bytes) {
  struct hak_range_gaps *g = &g_range_gaps;
  size_t n = g->n, unit = sizeof(struct hak_unit);
  hak_store(&g->first[n], (uint32_t)(from_bytes / unit));
  hak_store(&g->end[n], (uint32_t)(to_bytes / unit));
  hak_store_release(&g->n, n + 1);
}

/* Continues the unit table behind a gap, with entries for `want` units from `first` on and for both neighbours. */
static bool skip_in_table(uint32_t first, size_t want, bool *taken) {
  size_t page = hak_os_page_bytes(), from = (first - 1) * sizeof(struct hak_unit) / page * page;
  size_t bytes = hak_round_up((first + want + 1) * sizeof(struct hak_unit) - from, hak_max(TABLE_STEP, page));
  *taken = true;
  if (g_range_gaps.n == HAK_RANGE_GAPS) return *taken = false;
  if (from <= g_range.unit_mapped || !hak_os_map_at((char *)g_range.unit + from, bytes, taken)) return false;
  note_gap(g_range.unit_mapped, from);
  hak_store_release(&g_range.unit_mapped, from + bytes);
  return true;
}

/* Extends both tables to units first .. first + want: merging reads the entry behind the last unit. The class map has
 * no gaps. *taken: a foreign mapping is in the way of the unit table, and a try further up may succeed. */
static bool extend_tables(uint32_t first, size_t want, bool *taken) {
  size_t end = first + want + 1, bytes = end * sizeof(struct hak_unit);
  bool classes = extend_table(g_range.map, &g_range.map_mapped, end, taken);
  if (!classes) return *taken = false;
  if (HAK_SECURE && !hak_state_extend(first, want, taken)) return false;
  bool far = first - g_range.units > LARGEST_SKIP_UNITS && bytes > g_range.unit_mapped;
  if (!far && extend_table(g_range.unit, &g_range.unit_mapped, bytes, taken)) return true;
  return (far || *taken) && g_range.units > 1 && skip_in_table(first, want, taken);
}

/* Chooses the place at the first growth: an address where both tables can be mapped. */
static bool settle_range(void) {
  if (g_range.units != 0) return true;
  uint64_t random = hak_os_random();
  for (unsigned i = FIRST_WINDOW * TRIES; i < WINDOWS * TRIES; i++) {
    if (g_range.map_mapped != 0 && !hak_os_unmap(g_range.map, g_range.map_mapped)) return false; /* retried later */
    hak_store(&g_range.map_mapped, 0);
    hak_store(&g_range.unit_mapped, 0);
    uintptr_t base = place_window(&windows[i / TRIES], random + i * 0x9e3779b97f4a7c15u);
    if (HAK_SECURE) hak_state_place(base, (uint64_t)1 << windows[i / TRIES].room_log, hak_chance());
    bool taken;
    if (extend_tables(0, 1, &taken)) {
      if (HAK_SECURE) hak_apart_guard_front(g_range.map);
      if (HAK_SECURE) hak_apart_guard_front(g_range.unit);
      hak_store(&g_range.base, base);
      hak_store_release(&g_range.units, 1); /* unit 0 is always a hole */
      hak_fence();
      if (hak_holds_all()) hak_range_populate_tables(); /* asked for since, while there was no place */
      return true;
    }
  }
  return false;
}

/* Bytes of the tail that a run from `first` on covers: all bytes, or none if units are skipped. */
static size_t tail_at(uint32_t first) { return first == g_range.units ? g_range.tail : 0; }

/* Maps the units of a run and one page behind, the new tail. If the kernel allows no further mapping, extends the
 * mapping of the old tail: the tail belongs to no block, so the program has not guarded, locked or excluded from forks
 * this page. */
static bool map_run(uint32_t first, size_t units, bool *taken) {
  size_t had = tail_at(first), page = hak_os_page_bytes();
  char *p = (char *)hak_range_address(first) + had;
  size_t bytes = units * HAK_UNIT_BYTES - had + page;
  if (!hak_os_map_at(p, bytes, taken) && (*taken || had == 0 || !hak_os_extend(p, bytes))) return false;
  if (had == 0 && g_range.tail != 0) hak_os_unmap(hak_range_address((uint32_t)g_range.units), g_range.tail);
  hak_store(&g_range.tail, page);
  return true;
}

/* Maps `want` units behind the published units, or behind foreign mappings. The first unit, or HAK_NO_UNIT. */
static uint32_t map_units(size_t want) {
  bool taken = true;
  for (size_t skip = 0; taken && skip <= FARTHEST_SKIP_UNITS; skip = skip * 2 + FIRST_STEP_UNITS) {
    uint32_t first = (uint32_t)(g_range.units + skip);
    if (extend_tables(first, want, &taken) && map_run(first, want, &taken)) return first;
  }
  return HAK_NO_UNIT;
}

/* The next growth [units]: a fourth of the range, so that a large heap takes few kernel calls; just `units` if the
 * kernel refused the last growth. A half of a region at the range's end could never become one huge page. */
static size_t step_for(size_t units) {
  if (HAK_UNLIKELY(hak_load(&g_range.refused))) return units;
  size_t step = hak_max(g_range.units / 4, FIRST_STEP_UNITS);
  step = hak_min(hak_round_up(step, FIRST_STEP_UNITS), LARGEST_STEP_UNITS);
  if (step >= REGION_UNITS) step = hak_round_up(g_range.units + step, STEP_END_UNITS) - g_range.units;
  step = hak_max(step, units);
  size_t part = STEP_END_UNITS / REGION_UNITS; /* one of so many regions is memory */
  return hak_max(step, part * hak_load(&g_range.least_step));
}

bool hak_range_grow(size_t units, uint32_t *first, size_t *count) {
  if (units > UINT32_MAX / 2 || !settle_range()) return false;
  size_t want = step_for(units);
  uint32_t at;
  while ((at = map_units(want)) == HAK_NO_UNIT && want > units) want = units;
  hak_store(&g_range.refused, at == HAK_NO_UNIT);
  if (at == HAK_NO_UNIT) return false;
  if (HAK_UNLIKELY(at != g_range.units)) note_skip((uint32_t)g_range.units, at);
  hak_store(&g_range.mapped, g_range.mapped + want * HAK_UNIT_BYTES);
  hak_store_release(&g_range.units, at + want);
  if (g_range_gaps.n == 0) hak_store_release(&g_range.entered, at + want);
  *first = at;
  *count = want;
  return true;
}

static bool is_run_live(const struct hak_unit *e) {
  uint8_t kind = hak_load_acquire(&e->kind);
  return kind == HAK_UNIT_SLAB || kind == HAK_UNIT_LARGE || kind == HAK_UNIT_PAGED;
}

uint32_t hak_range_run_of(const void *p) {
  size_t u = hak_range_unit_of(p);
  if (!hak_range_has_entry(u)) return HAK_NO_UNIT;
  const struct hak_unit *e = hak_range_entry((uint32_t)u);
  if (hak_load_acquire(&e->kind) == HAK_UNIT_HOLE) return HAK_NO_UNIT;
  uint32_t head = hak_load(&e->head);
  const struct hak_unit *h = hak_range_entry(head);
  return is_run_live(h) && u - head < hak_load(&h->length) ? head : HAK_NO_UNIT;
}

void hak_range_set_class(uint32_t first, size_t units, unsigned c) {
  for (size_t i = 0; i < units; i++) hak_store_release(&g_range.map[first + i], (uint8_t)c);
}

/* The gaps of the unit table's first `end` bytes. A gap that was noted after `end` was read lies behind them. */
static size_t gaps_below(size_t end) {
  size_t n = hak_load_acquire(&g_range_gaps.n);
  while (n != 0 && hak_load(&g_range_gaps.first[n - 1]) * sizeof(struct hak_unit) >= end) n--;
  return n;
}

static size_t gap_bytes(size_t i) {
  return (size_t)(hak_load(&g_range_gaps.end[i]) - hak_load(&g_range_gaps.first[i])) * sizeof(struct hak_unit);
}

size_t hak_range_table_bytes(void) {
  size_t end = hak_load_acquire(&g_range.unit_mapped);
  size_t bytes = hak_load(&g_range.map_mapped) + end + hak_load(&g_range.tail);
  for (size_t i = 0, n = gaps_below(end); i < n; i++) bytes -= gap_bytes(i);
  return HAK_SECURE ? bytes + hak_state_mapped() : bytes;
}

void hak_range_populate_tables(void) {
  if (hak_load_acquire(&g_range.units) == 0) return; /* no place yet */
  if (HAK_SECURE) hak_state_populate();
  hak_os_populate(g_range.map, hak_load(&g_range.map_mapped), true);
  if (hak_load_acquire(&g_range_gaps.n) == 0) hak_os_populate(g_range.unit, hak_load(&g_range.unit_mapped), true);
}

static void add_units(struct hak_extents *list, size_t first, size_t end) {
  hak_extents_add(list, hak_range_address((uint32_t)first), (end - first) * HAK_UNIT_BYTES, HAK_EXTENT_RUNS);
}

static void add_tables(struct hak_extents *list) {
  size_t from = 0, end = hak_load_acquire(&g_range.unit_mapped), unit = sizeof(struct hak_unit);
  if (HAK_SECURE) hak_state_extents(list);
  hak_extents_add(list, g_range.map, hak_load(&g_range.map_mapped), HAK_EXTENT_METADATA);
  for (size_t i = 0, n = gaps_below(end); i < n; i++) {
    hak_extents_add(list, (char *)g_range.unit + from, g_range_gaps.first[i] * unit - from, HAK_EXTENT_METADATA);
    from = g_range_gaps.end[i] * unit;
  }
  hak_extents_add(list, (char *)g_range.unit + from, end - from, HAK_EXTENT_METADATA);
}

void hak_range_extents(struct hak_extents *list) {
  size_t units = hak_load_acquire(&g_range.units), skips = hak_load_acquire(&g_skips.n), from = 1;
  if (units == 0) return; /* no place yet */
  add_tables(list);
  for (size_t n = 0; n < skips && hak_load(&g_skips.end[n]) < units; n++) {
    add_units(list, from, hak_load(&g_skips.first[n]));
    from = hak_load(&g_skips.end[n]);
  }
  if (from < units) add_units(list, from, units);
  hak_extents_add(list, hak_range_address((uint32_t)units), hak_load(&g_range.tail), HAK_EXTENT_METADATA);
}
