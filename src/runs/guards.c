/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guards.c: guards between the regions of the range, and random places of runs.
 *
 * what      See guards.h.
 * locks     g_runs.lock.
 */
#include "runs/guards.h"

#include "os/chance.h"
#include "os/guard.h"

enum { REGION_UNITS = HAK_REGION_UNITS, ROOM = REGION_UNITS - 1 };

/* The guard of the region in which a unit lies. */
static uint32_t guard_of(size_t unit) { return (uint32_t)(unit | ROOM); }

/* How many units to ask for, from the present end of the range on, so that a region has room for `units`. */
static size_t growth_for(size_t units) {
  size_t begin = hak_max(g_range.units, 1), left = guard_of(begin) - begin; /* unit 0 is a hole */
  return units <= left ? left + 1 : left + 1 + hak_round_up(units + 1, REGION_UNITS);
}

/* True if a run of `units` units fits between two guards in [first, end). */
static bool fits_between(uint32_t first, uint32_t end, size_t units) {
  uint32_t guard = guard_of(first);
  size_t here = hak_min(guard, end) - first, behind = end > guard ? hak_min(end - guard - 1, ROOM) : 0;
  return hak_max(here, behind) >= units;
}

static void make_guard_locked(uint32_t unit) {
  hak_os_guard(hak_range_address(unit), HAK_UNIT_BYTES);
  hak_store(&g_range.mapped, g_range.mapped - HAK_UNIT_BYTES);
}

/* Enters fresh units, free runs between guards. A run of `units` units that fits between no two covers borders. */
static uint32_t enter_growth_locked(uint32_t first, uint32_t end, size_t units) {
  bool covers = !fits_between(first, end, units);
  uint32_t found = HAK_NO_UNIT;
  for (uint32_t at = first; at < end; at++) {
    uint32_t stop = (uint32_t)hak_min(guard_of(covers && found == HAK_NO_UNIT ? at + units : at), end);
    if (stop - at >= units && found == HAK_NO_UNIT) found = at;
    uint32_t run = stop == at ? HAK_NO_UNIT : hak_runs_merge_locked(at, stop - at, HAK_UNIT_CLEAN);
    if (found == at) found = run;
    at = stop;
    if (at < end) make_guard_locked(at);
  }
  return found;
}

uint32_t hak_guards_grow_locked(size_t units) {
  uint32_t first;
  size_t count;
  if (!hak_range_grow(growth_for(units), &first, &count) && !hak_range_grow(units, &first, &count)) return HAK_NO_UNIT;
  hak_runs_set_rent_locked();
  hak_region_grown(first, count);
  return enter_growth_locked(first, first + (uint32_t)count, units);
}

uint32_t hak_guards_place_locked(uint32_t first, size_t units) {
  const struct hak_unit *e = hak_range_entry(first);
  uint32_t length = (uint32_t)units, most = e->kind == HAK_UNIT_DIRTY ? 1 : e->length / length;
  uint32_t offset = hak_chance_below(most) * length;
  return first + (hak_chance() & 1 ? offset : e->length - length - offset);
}

uint32_t hak_guards_any_of(uint32_t first) {
  enum { LOOKS = 4 };
  uint32_t at = first;
  for (uint32_t n = hak_chance_below(LOOKS); n > 0 && hak_range_entry(at)->next != HAK_NO_UNIT; n--) {
    at = hak_range_entry(at)->next;
  }
  return at;
}
