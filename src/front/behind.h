/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* behind.h: the boxes behind a magazine.
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
#ifndef HAK_FRONT_BEHIND_H
#define HAK_FRONT_BEHIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "box/large.h"
#include "box/slab.h"
#include "core/classes.h"
#include "front/caretaker.h"
#include "front/pressure.h"

/* `run`: is c a run's? What lies between a slow door and the boxes is compiled for either. */
HAK_INLINE size_t hak_behind_fill(unsigned c, bool run, uint32_t *slab, void **out, size_t want) {
  size_t n = run ? hak_large_fill(c, out, want) : hak_slab_fill(c, slab, out, want);
  if (run) hak_pressure_taken(n * g_class[c].bytes);
  else hak_caretaker_taken(n * g_class[c].bytes);
  return n;
}

/* How many. All of them, of runs. */
HAK_INLINE size_t hak_behind_put(unsigned c, bool run, void *const *blocks, size_t n, size_t steps,
                               struct hak_fault *fault) {
  if (!run) return hak_slab_put(c, blocks, n, steps, fault);
  hak_large_put(c, blocks, n, fault);
  return n;
}

static inline void hak_behind_note_idle(void) {
  if (!hak_load(&g_caretaker.watched) && HAK_UNLIKELY(hak_caretaker_runs_are_due())) hak_caretaker_call();
}

/* They went back. Where runs are too much, the door looks when it is through: here a magazine may be open. */
HAK_INLINE void hak_behind_note(unsigned c, bool run, size_t n) {
  size_t bytes = n * g_class[c].bytes;
  if (!run) {
    hak_caretaker_freed(bytes);
    hak_behind_note_idle(); /* slabs may have been emptied, and be runs now */
  } else if (!hak_load(&g_caretaker.watched)) {
    hak_caretaker_reckon((int64_t)(bytes / HAK_RUN_WEIGHT), 0);
    hak_behind_note_idle();
  }
}

HAK_INLINE void hak_behind_check(unsigned c, bool run, void *const *blocks, size_t n, struct hak_fault *fault) {
  if (run) hak_large_check(c, blocks, n, fault);
  else hak_slab_check(c, blocks, n, fault);
}

#endif
