/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* capacity.h: how much a thread may cache.
 *
 * what      The fixed bounds of a thread, and what may be had beyond them: a share of its part of the slabs, for
 *           classes that swing, and its part of half of the runs that may stay free in span (retain/watermark.h), as
 *           they would lie there otherwise. How far a class may grow: as usual, or as learnt (learn/caches.h).
 *
 *               all bytes - runs that lie there anyway  <=  thread_cache_bytes, or the share of the slabs
 *
 * owner     The context's thread.
 * orders    Relaxed.
 * not here  Growing and shrinking: magazine.c. What all threads may: magazine.h.
 */
#ifndef HAK_CACHE_CAPACITY_H
#define HAK_CACHE_CAPACITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/account.h"
#include "cache/context.h"
#include "tables/classes.h"
#include "tables/settings.h"

enum { HAK_MAGAZINE_LARGEST = 1023 }; /* blocks: its array is the largest piece of metadata */

/* What a magazine of this capacity costs when full, its array counted. */
static inline size_t hak_capacity_cost(unsigned c, size_t capacity) {
  return capacity == 0 ? 0 : capacity * g_class[c].bytes + (capacity + 1) * sizeof(void *);
}

static inline bool hak_capacity_is_small(unsigned c) { return g_class[c].bytes <= HAK_SMALL_MAX; }

/* The same as hak_capacity_allow, where a fixed bound is passed. */
bool hak_capacity_allow_beyond(const struct hak_context *x, unsigned c, size_t bytes, bool may_share);

/* Would the thread's caches be within its bounds with `bytes` more of class c? A share of the heap counts if it may. */
HAK_INLINE bool hak_capacity_allow(const struct hak_context *x, unsigned c, size_t bytes, bool may_share) {
  size_t small_bytes = hak_capacity_is_small(c) ? x->small_bytes + bytes : 0, all_bytes = x->all_bytes + bytes;
  bool fits = small_bytes <= hak_setting(thread_small_bytes) && all_bytes <= hak_setting(thread_cache_bytes);
  return fits || hak_capacity_allow_beyond(x, c, bytes, may_share);
}

/* Who gives when the thread is over its bounds: of runs the longest of which it may hold more than one, as fewer may
 * stay than did; else the class that missed. */
unsigned hak_capacity_giver(const struct hak_context *x, unsigned c);

/* The largest 2^k - 1 that is at most n, at least 1. */
static inline unsigned hak_capacity_capacity(size_t n) { return n < 3 ? 1 : (1u << hak_highest_bit(n + 1)) - 1; }

/* The largest capacity of class c as usual; and log where it may grow to 2^(log + 1) - 1, as usual or as learnt. */
unsigned hak_capacity_usual(unsigned c);
uint8_t hak_capacity_log(unsigned c);

/* What was learnt of class c: log of its capacity, log of the depot's bytes, eighths that a flush puts back. 0:
 * nothing. Word 0 is not 0 once a class has one. Its page is not touched while nothing is learnt. */
extern HAK_HIDDEN uint32_t g_capacity_learnt[HAK_CLASSES];
static inline uint32_t hak_capacity_learnt(unsigned c) {
  return HAK_UNLIKELY(hak_load(&g_account.counts) != 0) ? hak_load(&g_capacity_learnt[c]) : 0;
}

/* What is learnt of the class is another bound now. The threads come to it at their next slow doors. */
void hak_capacity_heed(unsigned c);

#endif
