/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runs_put.c: units that become free: of a run, of its end, of one that was detached.
 *
 * what      See runs.h. They merge with their neighbours of the same sort (hak_runs_merge_locked).
 * locks     g_runs.lock.
 */
#include "runs/runs.h"
#include "runs/runs_internal.h"
#include "tables/counters.h"

static bool is_used(const struct hak_unit *e) { return e->kind == HAK_UNIT_LARGE || e->kind == HAK_UNIT_SLAB; }

static size_t put_run(uint32_t first, enum hak_unit_kind kind) {
  const struct hak_unit *e = hak_range_entry(first);
  size_t units = 0;
  hak_runs_lock();
  if (HAK_LIKELY(is_used(e))) {
    units = e->length;
    hak_runs_count(HAK_COUNTER_release_added);
    hak_runs_merge_locked(first, units, kind);
    hak_runs_pass_time_locked(units * HAK_UNIT_PAGES);
  }
  hak_runs_unlock_after_put();
  return units << HAK_UNIT_SHIFT;
}

size_t hak_runs_put(uint32_t first) { return put_run(first, HAK_UNIT_DIRTY); }
void hak_runs_put_clean(uint32_t first) { put_run(first, HAK_UNIT_CLEAN); }

void hak_runs_shorten(uint32_t first, size_t units) {
  hak_runs_lock();
  struct hak_unit *e = hak_range_entry(first);
  size_t rest = e->length - units;
  if (rest != 0) {
    hak_store_release(&e->length, (uint32_t)units);
    hak_runs_merge_locked(first + (uint32_t)units, rest, HAK_UNIT_DIRTY);
  }
  hak_runs_unlock();
}

uint32_t hak_runs_attach_locked(uint32_t first, size_t units, enum hak_unit_kind kind) {
  hak_runs_count_attached_locked(units * HAK_UNIT_PAGES);
  return hak_runs_merge_locked(first, units, kind);
}
