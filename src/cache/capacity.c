/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* capacity.c: how much a thread may cache, beyond the fixed limits.
 *
 * what      See capacity.h.
 */
#include "cache/capacity.h"

#include <assert.h>

#include "blocks/depot.h"
#include "blocks/slab.h"
#include "cache/account.h"
#include "cache/magazine.h"
#include "cache/registry.h"
#include "retain/footprint.h"
#include "retain/rent.h"

HAK_RARE uint32_t g_capacity_learnt[HAK_CLASSES];

enum {
  SMALL_BYTES = 128 << 10, /* [bytes] most blocks of a magazine, classes up to 1 KiB */
  MID_BYTES = 1 << 20,     /* [bytes] the same, classes above 1 KiB */
  HANDED_PART = 8,         /* 1/8 of all caches is for blocks that go from thread to thread */
  SPARE_PART = 2           /* 1/2 of the free runs that may stay are for all threads' magazines */
};

/* [bytes] Share of the slabs, per thread, that magazines may hold. 0 while all free memory is held (mallopt): other
 * size classes must find the free memory in slabs. */
static size_t heap_share(void) {
  if (hak_holds_all()) return 0;
  uint64_t slabs = hak_slab_bytes() / hak_max(hak_registry_count(), 1);
  return slabs * hak_setting(cache_heap_percent) / 100;
}

static_assert(HAK_RUN_CLASS / 64 == (HAK_CLASSES - 1) / 64, "runs share a word");

static size_t run_bytes(const struct hak_context *x) {
  size_t sum = 0;
  for (unsigned c = HAK_RUN_CLASS; c < HAK_CLASSES; c++) sum += hak_capacity_cost(c, x->capacity[c]);
  return sum;
}

/* [bytes] Part of the thread's cached runs, with `bytes` more, that does not count against the limit. 0 where a free
 * run did not fit a request within T (g_footprint.spare), as runs in a magazine never merge. */
static size_t spare_of(const struct hak_context *x, size_t bytes) {
  bool any = x->touched[HAK_RUN_CLASS / 64] >> HAK_RUN_CLASS % 64 != 0 || bytes != 0;
  if (!any) return 0;
  uint64_t spare = hak_load(&g_footprint.spare) / SPARE_PART / hak_max(hak_registry_count(), 1);
  return hak_min(run_bytes(x) + bytes, spare / 100 * hak_setting(cache_heap_percent));
}

/* [bytes] Part of the thread in what all threads may cache of blocks that one of them allocates and another frees:
 * these pass through the depot, and each miss moves as many at a time as the magazine has room for. Only a class whose
 * blocks did so grows by it; whatever has grown may stay. */
static size_t handed_most(unsigned c, bool grows) {
  bool handed = grows ? hak_depot_had(c) : hak_load(&g_depot_used);
  return handed ? hak_magazine_budget() / HANDED_PART / hak_max(hak_registry_count(), 1) : 0;
}

/* [bytes] Limit of all small classes; `grows`: where class c asks for more. With learning, the capacity learnt per
 * class replaces the limit. A setting that was given holds. */
static size_t small_most(unsigned c, bool grows) {
  size_t most = hak_setting(thread_small_bytes), all = hak_setting(thread_cache_bytes);
  if (!hak_setting_is_default(thread_small_bytes)) return most;
  return hak_max(most, hak_capacity_learnt(0) != 0 ? all : hak_min(handed_most(c, grows), all));
}

bool hak_capacity_allow_beyond(const struct hak_context *x, unsigned c, size_t bytes, bool may_share) {
  bool small = hak_capacity_is_small(c);
  size_t small_bytes = small ? x->small_bytes + bytes : 0, small_limit = small ? small_most(c, bytes != 0) : 0;
  size_t all_bytes = x->all_bytes + bytes, all_limit = hak_setting(thread_cache_bytes);
  if (all_bytes > all_limit) all_bytes -= spare_of(x, hak_is_run_class(c) ? bytes : 0);
  bool fits = small_bytes <= small_limit && all_bytes <= all_limit;
  if (fits || !may_share) return fits;
  size_t share = heap_share();
  return small_bytes <= hak_max(small_limit, share / 2) && all_bytes <= hak_max(all_limit, share);
}

unsigned hak_capacity_giver(const struct hak_context *x, unsigned c) {
  if (x->all_bytes - run_bytes(x) > hak_setting(thread_cache_bytes)) return c;
  for (unsigned run = HAK_CLASSES; run-- > HAK_RUN_CLASS;) {
    if (x->capacity[run] > 1 && !hak_has_class(x->closed, run)) return run;
  }
  return c;
}

unsigned hak_capacity_usual(unsigned c) {
  if (hak_is_run_class(c)) return HAK_MAGAZINE_LARGEST;
  size_t most = hak_capacity_is_small(c) ? SMALL_BYTES : MID_BYTES;
  return hak_capacity_capacity(hak_min(most / g_class[c].bytes, HAK_MAGAZINE_LARGEST));
}

uint8_t hak_capacity_log(unsigned c) {
  uint32_t learnt = hak_capacity_learnt(c) & 255;
  return (uint8_t)(learnt != 0 ? learnt - 1 : hak_highest_bit(hak_capacity_usual(c)));
}

void hak_capacity_heed(unsigned c) {
  for (struct hak_context *x = hak_registry_first(); x != NULL; x = hak_registry_next(x)) {
    if (hak_load_acquire(&x->in_use)) hak_store(&x->most_log[c], hak_capacity_log(c));
  }
}
