/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* mallopt.c: memory that stays, and where blocks lie.
 *
 * what      See mallopt.h.
 */
#include "entry/mallopt.h"

#include "blocks/big.h"
#include "entry/fast_path.h"
#include "entry/heap.h"
#include "os/image.h"
#include "os/lock.h"
#include "os/os.h"
#include "retain/rent.h"
#include "tables/meta.h"
#include "tables/range.h"
#include "tables/settings.h"
#include "tables/site.h"

enum { THRESHOLD_LEAST = 256 << 10 }; /* [bytes] least value of the setting big_threshold */

static struct {
  struct hak_lock lock;
  uint64_t threshold; /* big_threshold before M_MMAP_MAX = 0; 0: blocks may be mapped */
} g_mallopt;

/* ---- pages fetched ahead ---- */

static bool holds_or_held_blocks(const struct hak_unit *e) {
  uint8_t kind = hak_load_acquire(&e->kind);
  return kind == HAK_UNIT_SLAB || kind == HAK_UNIT_DIRTY || kind == HAK_UNIT_PAGED;
}

/* Fetches the pages of slabs, of paged units and of dirty runs. Units may change meanwhile: more or fewer pages are
 * fetched then. */
static void populate_runs(void) {
  for (size_t u = 1; (u = hak_range_pass(u)) < hak_load_acquire(&g_range.units); u++) {
    const struct hak_unit *e = hak_range_entry((uint32_t)u);
    if (hak_load(&e->head) != u || !holds_or_held_blocks(e)) continue;
    hak_os_populate(hak_range_address((uint32_t)u), (size_t)hak_load(&e->length) << HAK_UNIT_SHIFT, true);
  }
}

static void populate_all(void) {
  hak_image_populate();
  hak_meta_reserve();
  hak_range_populate_tables();
  hak_site_reserve();
  hak_big_populate_table();
  populate_runs();
}

/* ---- the parameters ---- */

bool hak_mallopt_trim_threshold(int value) {
  bool held = hak_holds_all();
  hak_store(&g_hold_floor, value < 0 ? UINT64_MAX : (uint64_t)value);
  hak_fence(); /* a table that grows now is seen below, or its thread sees the floor */
  hak_heap_settings_changed();
  if (value < 0 && !held) populate_all();
  return true;
}

bool hak_mallopt_top_pad(int value) {
  size_t bytes = value < 0 ? 0 : (size_t)value;
  hak_store(&g_range.least_step, hak_round_up(bytes, HAK_UNIT_BYTES) >> HAK_UNIT_SHIFT);
  return true;
}

/* In a fork's child another thread's call may be half done: it counts as not begun where blocks may not be mapped. */
static void lock_threshold(void) {
  bool left_behind = hak_lock_take(&g_mallopt.lock);
  if (left_behind && g_mallopt.threshold != 0) hak_setting_put(big_threshold, INT64_MAX);
}

/* As in glibc, a negative value is above any size. */
bool hak_mallopt_mmap_threshold(int value) {
  uint64_t threshold = value < 0 ? INT64_MAX : hak_max((uint64_t)value, THRESHOLD_LEAST);
  lock_threshold();
  if (g_mallopt.threshold != 0) g_mallopt.threshold = threshold;
  else hak_setting_put(big_threshold, threshold);
  hak_lock_drop(&g_mallopt.lock);
  return true;
}

bool hak_mallopt_mmap_max(int value) {
  lock_threshold();
  uint64_t before = g_mallopt.threshold;
  if (value == 0 && before == 0) {
    g_mallopt.threshold = hak_setting(big_threshold);
    hak_setting_put(big_threshold, INT64_MAX);
  }
  if (value != 0 && before != 0) {
    hak_setting_put(big_threshold, before);
    g_mallopt.threshold = 0;
  }
  hak_lock_drop(&g_mallopt.lock);
  return true;
}
