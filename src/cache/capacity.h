/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* capacity.h: how much a thread may cache.
 *
 * what      Fixed limits of a thread, and three allowances beyond: for classes whose refills and flushes alternate, a
 *           share of the thread's part of all slabs; for classes whose blocks one thread allocates and another frees,
 *           the thread's part of an eighth of all caches; for runs, the thread's part of half of the dirty runs that
 *           may stay (retain/watermark.h), as such runs would stay free anyway. The largest capacity of a class is the
 *           usual value or learnt (learn/caches.h).
 *
 *              all bytes - runs that stay free anyway  <=  thread_cache_bytes, or the share of the slabs
 *
 * owner     The context's thread.
 * orders    Relaxed.
 * not here  Growing and shrinking: magazine.c. The budget of all threads: magazine.h.
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

enum { HAK_MAGAZINE_LARGEST = 1023 }; /* [blocks] the array is the largest piece of metadata */

/* [bytes] Cost of a full magazine of this capacity, array included. */
static inline size_t hak_capacity_cost(unsigned c, size_t capacity) {
  return capacity == 0 ? 0 : capacity * g_class[c].bytes + (capacity + 1) * sizeof(void *);
}

static inline bool hak_capacity_is_small(unsigned c) { return g_class[c].bytes <= HAK_SMALL_MAX; }

/* Slow case of hak_capacity_allow: a fixed limit is exceeded. */
bool hak_capacity_allow_beyond(const struct hak_context *x, unsigned c, size_t bytes, bool may_share);

/* True if the thread's caches stay within the limits with `bytes` more of class c. may_share: a share of the slabs
 * counts. */
HAK_INLINE bool hak_capacity_allow(const struct hak_context *x, unsigned c, size_t bytes, bool may_share) {
  size_t small_bytes = hak_capacity_is_small(c) ? x->small_bytes + bytes : 0, all_bytes = x->all_bytes + bytes;
  bool fits = small_bytes <= hak_setting(thread_small_bytes) && all_bytes <= hak_setting(thread_cache_bytes);
  return fits || hak_capacity_allow_beyond(x, c, bytes, may_share);
}

/* Class that gives up capacity when the thread is over a limit. If cached runs are the reason: the longest run class
 * with capacity above 1 and not closed for a drain, since fewer runs may stay than before. Else c, the class that
 * missed. */
unsigned hak_capacity_giver(const struct hak_context *x, unsigned c);

/* The largest 2^k - 1 that is at most n, at least 1. */
static inline unsigned hak_capacity_capacity(size_t n) { return n < 3 ? 1 : (1u << hak_highest_bit(n + 1)) - 1; }

/* Usual largest capacity of class c. hak_capacity_log: log, usual or learnt, such that 2^(log + 1) - 1 is the largest
 * capacity. */
unsigned hak_capacity_usual(unsigned c);
uint8_t hak_capacity_log(unsigned c);

/* Learnt for class c; 0: nothing. Bits 0 to 7: 1 + log of the capacity; 8 to 15: log of the depot's bytes per thread;
 * 16 to 23: eighths of a magazine that a flush puts back. Word 0 is not 0 once any class has a value. The page is not
 * touched while nothing is learnt. */
extern HAK_HIDDEN uint32_t g_capacity_learnt[HAK_CLASSES];
static inline uint32_t hak_capacity_learnt(unsigned c) {
  return HAK_UNLIKELY(hak_load(&g_account.capacities)) ? hak_load(&g_capacity_learnt[c]) : 0;
}

/* Applies a changed g_capacity_learnt[c] to all contexts; each thread adapts at its next slow path of class c. */
void hak_capacity_heed(unsigned c);

#endif
