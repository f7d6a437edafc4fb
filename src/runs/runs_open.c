/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runs_open.c: regions of 2 MiB that are fetched as one huge page.
 *
 * what      A slab is cut out of a clean run and begins a region. If a huge page pays, the rest of the region is
 *           detached until the region was touched; then the rest is dirty, and serves next:
 *
 *               clean run  | slab |  . . . rest of the region . . .  |  clean
 *                             ^ advised   ^ touched: dirty; refused: purged, clean
 *
 *           In the secure flavour, where a slab begins anywhere in a region, the units in front of it go the same way.
 *           The rest stays for T (runs_internal.h) and then goes like any dirty run. Slabs of blocks that may be
 *           buffers ask for no region (blocks/slab_written.h).
 * owner     g_runs. A rest belongs to the thread that opened its region.
 * locks     g_runs.lock. No lock is held during the touch.
 * failure   A fork while another thread touches a region leaks the rest in the child.
 * not here  Whether a huge page pays: retain/huge.h. The advice: region.h.
 */
#include "os/os.h"
#include "retain/huge.h"
#include "runs/region.h"
#include "runs/runs_internal.h"
#include "tables/range.h"
#include "tables/state.h"

/* At most MOST regions wait for their first touch at a time. */
enum { MOST = 2, REGION_UNITS = HAK_REGION_UNITS };

static bool is_clean_locked(uint32_t first, size_t units) {
  if (first >= g_range.units) return false;
  const struct hak_unit *e = hak_range_entry(first);
  return e->kind == HAK_UNIT_CLEAN && e->head == first && e->length >= units;
}

/* The secure flavour, where a slab begins anywhere in a region. True if units in front of the slab keep the region from
 * being fetched as a whole. */
HAK_INLINE bool is_cut_before(uint32_t region, uint32_t slab) {
  return region < slab && !is_clean_locked(region, slab - region);
}

HAK_INLINE void detach_front_locked(uint32_t region, size_t units) {
  bool clean = true;
  hak_runs_cut_at_locked(region, units, &clean);
  g_runs.detached += units * HAK_UNIT_PAGES;
}

HAK_INLINE void attach_front_locked(const struct hak_opened *o, bool huge) {
  uint32_t slab = hak_range_entry(o->rest - 1)->head, front = slab > o->region ? slab - o->region : 0;
  if (front != 0) hak_runs_attach_locked(o->region, front, huge ? HAK_UNIT_DIRTY : HAK_UNIT_CLEAN);
}

size_t hak_runs_open_now_locked(uint32_t at, size_t units, struct hak_opened *out) {
  uint32_t rest = at + (uint32_t)units, region = (rest - 1) / REGION_UNITS * REGION_UNITS;
  size_t left = region + REGION_UNITS - rest;
  if ((!HAK_SECURE && region < at) || left == 0 || g_runs.opening >= MOST) return 0;
  if (!is_clean_locked(rest, left) || (HAK_SECURE && is_cut_before(region, at))) return 0;
  bool tabled = region < g_runs.used_end && !hak_region_is_huge(region), clean = true;
  if (!hak_huge_pays(tabled) || !hak_region_open(region, tabled)) return 0;
  hak_runs_cut_at_locked(rest, left, &clean);
  g_runs.detached += left * HAK_UNIT_PAGES;
  if (HAK_SECURE && region < at) detach_front_locked(region, at - region);
  g_runs.opening++;
  *out = (struct hak_opened){region, rest, left, tabled};
  return HAK_SECURE ? rest - hak_max(region, at) : rest - region;
}

static void attach_rest(const struct hak_opened *o, bool huge, bool dirty) {
  hak_runs_lock();
  if (huge) g_runs.opened_ms = hak_os_now_ms();
  g_runs.opening -= g_runs.opening != 0; /* 0: in a fork's child */
  if (HAK_SECURE) attach_front_locked(o, huge);
  hak_runs_attach_locked(o->rest, o->units, dirty ? HAK_UNIT_DIRTY : HAK_UNIT_CLEAN);
  hak_runs_unlock_after_put();
}

bool hak_runs_fetch_opened(const struct hak_opened *o) {
  char *rest = hak_range_address(o->rest);
  bool huge = hak_huge_touch(rest, o->tabled) != HAK_HUGE_REFUSED;
  if (!huge) hak_region_close(o->region);
  attach_rest(o, huge, huge || !hak_os_purge(rest, o->units << HAK_UNIT_SHIFT));
  return huge;
}

void hak_runs_close_opened(struct hak_opened *o) {
  hak_region_close(o->region);
  attach_rest(o, false, false);
  o->units = 0;
}
