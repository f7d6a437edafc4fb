/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* footprint.h: how many bytes may hold pages, and how many of them are kept free.
 *
 * what      A cell or two for each box that knows, and what they come to.
 *
 *               range - clean and unmapped runs                     big blocks, live and kept   hard: no more than both
 *               less pages of slabs known to be empty               all of them                 footprint
 *               dirty runs                                          kept ones                   idle
 *
 * owner     g_footprint (in footprint.c); `span` and `dirty` belong to span, `empty` to the slab box, `big`,
 *           `claimed` and `kept` to the big box.
 * locks     Each cell is written under its owner's lock, `empty` by atomic addition; readers may see some a moment
 *           older than others.
 * orders    Relaxed.
 * hot path  No; read once per slow door.
 * not here  Who gives memory back when it is too much: reclaim/release.c.
 */
#ifndef HAK_RETAIN_FOOTPRINT_H
#define HAK_RETAIN_FOOTPRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "tables/settings.h"

struct hak_footprint {
  uint64_t span; /* bytes of the range in runs that are used or dirty */
  uint64_t big;  /* bytes of big blocks, live and kept */
  uint64_t claimed; /* bytes about to become big blocks: for the hard limit, nobody's yet */
  uint64_t empty; /* bytes of pages in slabs that hold nothing */
  uint64_t dirty, big_cached;
  uint64_t may_idle; /* bytes of dirty runs that may stay, when one was last freed */
  uint64_t spare;    /* the same, if within T nothing was fetched though as much was free; else 0 */
};
extern HAK_HIDDEN struct hak_footprint g_footprint;

/* What is likely to be resident. */
static inline uint64_t hak_footprint(void) {
  return hak_load(&g_footprint.span) - hak_load(&g_footprint.empty) + hak_load(&g_footprint.big);
}

/* The same in glibc's words, without live big blocks, which stand apart there: what blocks below the big threshold and
 * freed big ones take. What went back to the kernel is no slack that another malloc_trim could give back. */
static inline uint64_t hak_footprint_arena(void) {
  uint64_t span = hak_load(&g_footprint.span), empty = hak_load(&g_footprint.empty);
  return span - hak_min(empty, span) + hak_load(&g_footprint.big_cached);
}

/* Are there more dirty runs than may stay? */
static inline bool hak_footprint_idles(void) {
  return hak_load(&g_footprint.dirty) > hak_load(&g_footprint.may_idle);
}

/* Does the hard limit, if there is one, allow `more` bytes? */
static inline bool hak_footprint_allows(uint64_t more) {
  uint64_t hard = hak_setting(hard_limit), used = hak_load(&g_footprint.span) + hak_load(&g_footprint.big);
  used += hak_load(&g_footprint.claimed);
  return hard == 0 || (used <= hard && more <= hard - used);
}

#endif
