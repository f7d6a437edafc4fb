/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* backing.h: the boxes behind a magazine.
 *
 * what      Fill, put and check, of slabs' classes by the slab box, of runs' by the large one.
 *
 *               magazine <-> depot <-> slab | large
 *
 * locks     Only the boxes', inside their calls.
 * orders    None of its own.
 * failure   As the boxes'.
 * not here  How many: magazine.c.
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

/* `run`: is c a run's? What lies between a slow door and the boxes is compiled for either. */
HAK_INLINE size_t hak_backing_fill(unsigned c, bool run, uint32_t *slab, void **out, size_t want) {
  size_t n = run ? hak_large_fill(c, out, want) : hak_slab_fill(c, slab, out, want);
  if (run) hak_memory_limit_taken(n * g_class[c].bytes);
  else hak_account_taken(n * g_class[c].bytes);
  return n;
}

/* How many. All of them, of runs. */
HAK_INLINE size_t hak_backing_put(unsigned c, bool run, void *const *blocks, size_t n, size_t steps,
                               struct hak_fault *fault) {
  if (!run) return hak_slab_put(c, blocks, n, steps, fault);
  hak_large_put(c, blocks, n, fault);
  return n;
}

static inline void hak_backing_note_idle(void) {
  if (!hak_load(&g_account.watched) && HAK_UNLIKELY(hak_account_runs_are_due())) hak_account_request();
}

/* They went back. Where runs are too much, the door looks when it is through: here a magazine may be open. */
HAK_INLINE void hak_backing_note(unsigned c, bool run, size_t n) {
  size_t bytes = n * g_class[c].bytes;
  if (!run) {
    hak_account_freed(bytes);
    hak_backing_note_idle(); /* slabs may have been emptied, and be runs now */
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
