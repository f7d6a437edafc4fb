/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* backing.h: slabs and runs behind a magazine.
 *
 * what      Fill, put and check: blocks/slab.h for slab classes, blocks/large.h for run classes.
 *
 *              magazine <-> depot <-> slab | large
 *
 * locks     Only those of src/blocks, inside calls.
 * orders    None of its own.
 * failure   As in blocks/slab.h and blocks/large.h.
 * not here  How many blocks move: magazine.c.
 */
#ifndef HAK_CACHE_BACKING_H
#define HAK_CACHE_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks/large.h"
#include "blocks/slab.h"
#include "cache/account.h"
#include "retain/memory_limit.h"
#include "tables/classes.h"

/* `run`: true for a run class. All functions between a slow path and src/blocks are inlined once for either value. */
HAK_INLINE size_t hak_backing_fill(unsigned c, bool run, uint32_t *slab, void **out, size_t want) {
  size_t n = run ? hak_large_fill(c, out, want) : hak_slab_fill(c, slab, out, want);
  if (run) hak_memory_limit_taken(n * g_class[c].bytes);
  else hak_account_taken(n * g_class[c].bytes);
  return n;
}

/* Puts blocks back, from the front; returns the number put back: n for runs, at most `steps` steps for slabs. */
HAK_INLINE size_t hak_backing_put(unsigned c, bool run, void *const *blocks, size_t n, size_t steps,
                               struct hak_fault *fault) {
  if (!run) return hak_slab_put(c, blocks, n, steps, fault);
  hak_large_put(c, blocks, n, fault);
  return n;
}

static inline void hak_backing_note_idle(void) {
  if (!hak_load(&g_account.watched) && HAK_UNLIKELY(hak_account_runs_are_due())) hak_account_request();
}

/* Accounts n blocks put back. Past a threshold a reclaim is only requested, as a magazine may be half updated here; the
 * same slow path, once past the magazine, or the next slow path reclaims. */
HAK_INLINE void hak_backing_note(unsigned c, bool run, size_t n) {
  size_t bytes = n * g_class[c].bytes;
  if (!run) {
    hak_account_freed(bytes);
    hak_backing_note_idle(); /* emptied slabs may have become free runs */
  } else if (!hak_load(&g_account.watched)) {
    hak_account_note((int64_t)(bytes / HAK_RUN_WEIGHT), 0);
    hak_backing_note_idle();
  }
}

HAK_INLINE void hak_backing_check(unsigned c, bool run, void *const *blocks, size_t n, struct hak_fault *fault) {
  if (run) hak_large_check(c, blocks, n, fault);
  else hak_slab_check(c, blocks, n, fault);
}

#endif
