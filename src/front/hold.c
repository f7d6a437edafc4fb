/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* hold.c: memory that stays, and where blocks lie.
 *
 * what      See hold.h.
 */
#include "front/hold.h"

#include "core/knobs.h"
#include "core/meta.h"
#include "core/range.h"
#include "core/rent.h"
#include "front/front.h"

enum { GLIBC_THRESHOLD_MOST = 32 << 20, THRESHOLD_LEAST = 256 << 10 };

static struct {
  uint64_t threshold; /* big_threshold as it is again when blocks may be mapped; 0: they may */
} g_hold;

bool hak_hold_trim_threshold(int value) {
  hak_store(&g_rent.floor, value < 0 ? UINT64_MAX : (uint64_t)value);
  hak_front_knobs_changed();
  return true;
}

bool hak_hold_top_pad(int value) {
  size_t bytes = value < 0 ? 0 : (size_t)value;
  hak_store(&g_range.least_step, hak_round_up(bytes, HAK_UNIT_BYTES) >> HAK_UNIT_SHIFT);
  return true;
}

bool hak_hold_mmap_threshold(int value) {
  if (value < 0 || value > GLIBC_THRESHOLD_MOST) return false;
  uint64_t threshold = hak_max((uint64_t)value, THRESHOLD_LEAST);
  bool held = hak_load(&g_hold.threshold) != 0;
  hak_store(held ? &g_hold.threshold : &g_knobs.big_threshold, threshold);
  return true;
}

bool hak_hold_mmap_max(int value) {
  uint64_t before = hak_load(&g_hold.threshold);
  if (value == 0 && before == 0) {
    hak_store(&g_hold.threshold, hak_knob(big_threshold));
    hak_store(&g_knobs.big_threshold, INT64_MAX);
  }
  if (value != 0 && before != 0) {
    hak_store(&g_knobs.big_threshold, before);
    hak_store(&g_hold.threshold, 0);
  }
  return true;
}
