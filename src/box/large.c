/* large.c: blocks that are runs of units.
 *
 * what      Rounds to units and calls span. See large.h.
 * owner     g_large.
 * locks     None of its own.
 * orders    Relaxed counter.
 * hot path  No.
 * failure   NULL.
 * not here  Caching.
 */
#include "box/large.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "base/config.h"
#include "core/range.h"
#include "span/span.h"

static struct {
  uint64_t live_bytes;
} g_large;

static size_t units_for(size_t n) { return hak_round_up(n, HAK_UNIT_BYTES) >> HAK_UNIT_SHIFT; }

void *hak_large_alloc(size_t n, size_t align, bool *zero) {
  size_t units = units_for(n);
  size_t align_units = align <= HAK_UNIT_BYTES ? 1 : align >> HAK_UNIT_SHIFT;
  *zero = false; /* pages that are there are liked better */
  uint32_t u = hak_span_get(units, align_units, HAK_UNIT_LARGE, 0, zero);
  if (u == HAK_NO_UNIT) return NULL;
  hak_add(&g_large.live_bytes, units << HAK_UNIT_SHIFT);
  return hak_range_address(u);
}

void hak_large_free(uint32_t unit) {
  hak_sub(&g_large.live_bytes, hak_large_bytes(unit));
  hak_span_put(unit);
}

size_t hak_large_bytes(uint32_t unit) { return (size_t)hak_range_entry(unit)->length << HAK_UNIT_SHIFT; }

bool hak_large_resize(uint32_t unit, size_t n) {
  size_t have = hak_range_entry(unit)->length, want = units_for(n);
  if (want > have && !hak_span_extend(unit, want - have)) return false;
  if (want < have) hak_span_shorten(unit, want);
  hak_add(&g_large.live_bytes, (want - have) << HAK_UNIT_SHIFT);
  return true;
}

uint64_t hak_large_live(void) { return hak_load(&g_large.live_bytes); }
