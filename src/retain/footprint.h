/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* footprint.h: bytes that may hold pages, and how many of these bytes are free.
 *
 * what      A counter or two per layer that knows, and their sums.
 *
 *               runs used or dirty                           + big blocks, live and cached    hard limit: at most this
 *               runs used or dirty, less empty slab pages    + big blocks, live and cached    footprint
 *               dirty runs                                   + cached big blocks              idle
 *
 * owner     g_footprint (in footprint.c); `span`, `dirty`, `may_idle`, `ahead` and `spare` belong to src/runs,
 *           `empty` to the slabs, `big`, `claimed` and `big_cached` to the big blocks.
 * locks     Each counter is written under the owner's lock, `empty` by atomic addition; a reader may see some counters
 *           a moment older than the rest.
 * orders    Relaxed.
 * hot path  No; read once per slow call.
 * not here  Release of memory above a limit: reclaim/release_all.h.
 */
#ifndef HAK_RETAIN_FOOTPRINT_H
#define HAK_RETAIN_FOOTPRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "tables/settings.h"

struct hak_footprint {
  uint64_t span; /* [bytes] of the range in runs that are used or dirty */
  uint64_t big;  /* [bytes] of big blocks, live and cached */
  uint64_t claimed; /* [bytes] about to become big blocks; counted by the hard limit alone */
  uint64_t empty; /* [bytes] pages in slabs without content, purged or never touched */
  uint64_t dirty, big_cached;
  uint64_t may_idle; /* [bytes] of dirty runs that may stay, as of the last free of a run */
  uint64_t ahead;    /* [bytes] of dirty runs: at most what may be the rest of a region fetched within T */
  uint64_t foreseen; /* [bytes] by which earlier runs say that runs grow, 0: unknown; HAK_HUGE_LEAST at most */
  uint64_t spare;    /* may_idle, less 8 times the dirty bytes that did not fit when pages were last fetched within T */
};
extern HAK_HIDDEN struct hak_footprint g_footprint;

/* Bytes that are likely to be resident. */
static inline uint64_t hak_footprint(void) {
  return hak_less(hak_load(&g_footprint.span), hak_load(&g_footprint.empty)) + hak_load(&g_footprint.big);
}

/* The same in glibc's terms, without live big blocks, which glibc reports apart: bytes of blocks below the big
 * threshold and of cached big blocks. Without released memory, which a further malloc_trim could not release. */
static inline uint64_t hak_footprint_arena(void) {
  uint64_t span = hak_load(&g_footprint.span), empty = hak_load(&g_footprint.empty);
  return span - hak_min(empty, span) + hak_load(&g_footprint.big_cached);
}

/* True if more runs are dirty than may stay. */
static inline bool hak_footprint_idles(void) {
  return hak_load(&g_footprint.dirty) > hak_load(&g_footprint.may_idle);
}

/* True if the hard limit, if any, allows `more` bytes. */
static inline bool hak_footprint_allows(uint64_t more) {
  uint64_t hard = hak_setting(hard_limit), used = hak_load(&g_footprint.span) + hak_load(&g_footprint.big);
  used += hak_load(&g_footprint.claimed);
  return hard == 0 || (used <= hard && more <= hard - used);
}

/* True if the hard limit is exceeded. Called by takers of memory after the bytes were published: of two simultaneous
 * takers at least one sees the bytes of both. */
static inline bool hak_footprint_is_over(void) {
  if (HAK_LIKELY(hak_setting(hard_limit) == 0)) return false;
  hak_fence();
  return !hak_footprint_allows(0);
}

#endif
