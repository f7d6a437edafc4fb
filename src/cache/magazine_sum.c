/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* magazine_sum.c: sums over all magazines and the depot.
 *
 * what      A walk over all contexts; see magazine.h.
 * owner     g_depot_blocks: the caller of hak_magazine_age_depot.
 * locks     g_closed_lock, as a drain empties classes.
 * orders    Relaxed: exact if no other thread is inside a call.
 * not here  Refill and flush: magazine.c.
 */
#include "base/atomic.h"
#include "base/bits.h"
#include "blocks/depot.h"
#include "cache/capacity.h"
#include "cache/magazine.h"
#include "cache/registry.h"
#include "tables/classes.h"

static HAK_RARE size_t g_depot_blocks[HAK_CLASSES]; /* at the last hak_magazine_age_depot */

static uint64_t context_bytes(const struct hak_context *x) {
  uint64_t bytes = 0;
  hak_lock_take(&g_closed_lock);
  for (unsigned w = 0; w < HAK_CLASS_WORDS; w++) {
    for (uint64_t left = hak_load(&x->touched[w]); left != 0; left &= left - 1) {
      unsigned c = w * 64 + hak_lowest_bit(left);
      bytes += hak_magazine_blocks(x, c) * g_class[c].bytes;
    }
  }
  hak_lock_drop(&g_closed_lock);
  return bytes;
}

static uint64_t all_depot_bytes(void) {
  uint64_t bytes = 0;
  for (unsigned c = 1, end = hak_class_end(); c < end; c++) bytes += hak_depot_blocks(c) * g_class[c].bytes;
  for (unsigned c = HAK_RUN_CLASS; c < HAK_CLASSES; c++) bytes += hak_depot_blocks(c) * g_class[c].bytes;
  return bytes;
}

/* [bytes] Blocks in, and reserved by, the first CONTEXTS contexts. False: there are more contexts. */
static bool sum_magazines(uint64_t *cached, uint64_t *reserved) {
  enum { CONTEXTS = 1024 };
  const struct hak_context *x = hak_registry_first();
  for (unsigned n = 0; x != NULL && n < CONTEXTS; x = hak_registry_next(x), n++) {
    if (!hak_load_acquire(&x->in_use)) continue;
    *cached += context_bytes(x);
    *reserved += hak_load(&x->all_bytes);
  }
  return x == NULL;
}

uint64_t hak_magazine_cached_bytes(void) {
  uint64_t cached = 0, reserved = 0, depot = all_depot_bytes(), all = hak_load(&g_budget.bytes);
  bool exact = sum_magazines(&cached, &reserved);
  if (exact || reserved == 0 || all <= reserved + depot) return cached + depot;
  return cached + depot + (uint64_t)((double)(all - reserved - depot) * (double)cached / (double)reserved);
}

/* ---- one block ---- */

/* An array is metadata, which stays mapped for good, so a stale pointer can be read. */
static bool magazine_holds(const struct hak_context *x, unsigned c, const void *p) {
  void *const *top = hak_load(&x->top[c]);
  for (size_t n = hak_min(hak_magazine_blocks(x, c), HAK_MAGAZINE_LARGEST); n > 0; n--) {
    if (hak_load(top - n) == p) return true;
  }
  return false;
}

bool hak_magazine_holds(unsigned c, const void *p) {
  for (const struct hak_context *x = hak_registry_first(); x != NULL; x = hak_registry_next(x)) {
    if (hak_load_acquire(&x->in_use) && magazine_holds(x, c, p)) return true;
  }
  return false;
}

/* ---- unused blocks of the depot ---- */

void hak_magazine_age_depot(struct hak_fault *fault) {
  for (unsigned c = 1; c < HAK_CLASSES; c++) {
    size_t blocks = hak_depot_blocks(c);
    if (blocks != 0 && blocks == g_depot_blocks[c]) hak_magazine_drain_class(c, fault);
    g_depot_blocks[c] = hak_depot_blocks(c);
  }
}

/* ---- the budget ---- */

bool hak_magazine_is_short(void) {
  enum { FREE_SHARE = 4 };
  uint64_t budget = hak_magazine_budget();
  return hak_load(&g_budget.bytes) > budget - budget / FREE_SHARE;
}
