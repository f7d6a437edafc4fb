/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guards.c: guards between the regions of the range, and random places of runs.
 *
 * what      See guards.h.
 * locks     g_runs.lock.
 */
#include "runs/guards.h"

#include "os/chance.h"
#include "os/guard.h"
#include "os/os.h"

enum {
  REGION_UNITS = HAK_REGION_UNITS,
  STRIDE = 2 * REGION_UNITS, /* units from region to region */
  UNMAPPED = 16384,          /* guards: the heap's first 32 GiB */
  SPARSE = 8                 /* then one in so many, for as much heap again */
};

/* An unmapped guard splits a mapping in two, and a process may have some 65,000 mappings; a mapping of more than all
 * memory is one that fork refuses to copy. */
static bool is_unmapped(uint32_t unit) {
  uint32_t number = unit / STRIDE;
  return number < UNMAPPED || (number % SPARSE == 0 && number < 2 * UNMAPPED);
}

/* The first unit of a guard, from `unit` on. */
static uint32_t guard_from(size_t unit) { return (uint32_t)hak_round_up(unit + REGION_UNITS, STRIDE) - REGION_UNITS; }

static bool is_in_guard(size_t unit) { return unit % STRIDE >= REGION_UNITS; }

/* Where a run of `units` units begins, from unit `begin` on: in this region if it fits before the guard, else at the
 * begin of the next. */
static uint32_t place_from(size_t begin, size_t units) {
  size_t at = is_in_guard(begin) ? hak_round_up(begin, STRIDE) : begin;
  return (uint32_t)(guard_from(at) - at < units ? hak_round_up(at, STRIDE) : at);
}

/* How many units to ask for, from the present end of the range up to a guard, so that a region has room for `units`. */
static size_t growth_for(size_t units) {
  size_t begin = hak_max(g_range.units, 1); /* unit 0 is a hole */
  return guard_from(place_from(begin, units) + units) - begin;
}

static void make_guard_locked(uint32_t unit, uint32_t end) {
  size_t bytes = (size_t)(end - unit) << HAK_UNIT_SHIFT;
  void *p = hak_range_address(unit);
  if (!is_unmapped(unit) || !hak_os_unmap(p, bytes)) hak_os_guard(p, bytes);
  hak_store(&g_range.mapped, g_range.mapped - bytes);
}

/* Enters fresh units: free runs, and guards between them. The run at `place` has at least `units` units, over guards
 * where these do not fit into a region. Returns it. */
static uint32_t enter_growth_locked(uint32_t first, uint32_t end, uint32_t place, size_t units) {
  uint32_t found = HAK_NO_UNIT;
  for (uint32_t stop, at = first; at < end; at = stop) {
    bool guard = is_in_guard(at) && at != place;
    size_t from = guard ? hak_round_up(at, STRIDE) : guard_from(at == place ? at + units : at);
    stop = (uint32_t)hak_min(from, end);
    if (guard) make_guard_locked(at, stop);
    uint32_t run = guard ? HAK_NO_UNIT : hak_runs_merge_locked(at, stop - at, HAK_UNIT_CLEAN);
    if (at == place) found = run;
  }
  return found;
}

/* Behind a foreign mapping the units may begin anywhere: a run that then fits into no region begins with them. */
static uint32_t grow_by_locked(size_t units) {
  uint32_t first;
  size_t count, least = growth_for(units);
  if (!hak_range_grow(least + REGION_UNITS, &first, &count) && !hak_range_grow(least, &first, &count)) {
    return HAK_NO_UNIT;
  }
  hak_runs_set_rent_locked();
  hak_region_grown(first, count);
  uint32_t end = first + (uint32_t)count, place = place_from(first, units);
  return enter_growth_locked(first, end, place + units <= end ? place : first, units);
}

/* A region begins at any alignment up to the stride, as the range does: so a whole one has room. Behind a foreign
 * mapping there may be none whole. */
uint32_t hak_guards_grow_locked(size_t units, size_t align) {
  size_t all = units + align - 1;
  bool fits = units <= REGION_UNITS && align <= STRIDE;
  uint32_t run = grow_by_locked(fits ? hak_min(all, REGION_UNITS) : all);
  if (run == HAK_NO_UNIT || !fits) return run;
  bool has_room = hak_round_up(run, align) + units <= run + hak_range_entry(run)->length;
  return has_room ? run : grow_by_locked(all);
}

uint32_t hak_guards_place_locked(uint32_t first, size_t units) {
  const struct hak_unit *e = hak_range_entry(first);
  uint32_t length = (uint32_t)units, most = e->kind == HAK_UNIT_DIRTY ? 1 : e->length / length;
  uint32_t offset = hak_chance_below(most) * length;
  uint32_t at = hak_chance() & 1 ? offset : e->length - length - offset;
  bool whole = e->length == REGION_UNITS && e->kind != HAK_UNIT_DIRTY;
  return first + (whole && at + length == REGION_UNITS ? 0 : at);
}

uint32_t hak_guards_any_of(uint32_t first) {
  enum { LOOKS = 4 };
  uint32_t at = first;
  for (uint32_t n = hak_chance_below(LOOKS); n > 0 && hak_range_entry(at)->next != HAK_NO_UNIT; n--) {
    at = hak_range_entry(at)->next;
  }
  return at;
}
