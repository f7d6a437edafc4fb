/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* marks.c: the marks of a context by which a fast path sees that a class is closed.
 *
 * what      See marks.h.
 */
#include "cache/marks.h"

#include "base/atomic.h"
#include "cache/registry.h"
#include "tables/calls.h"

#define RAISED_FLOOR ((void **)((uintptr_t)1 << 63))
#define EYES_UNKNOWN ((uint8_t)UINT8_MAX)

static void **sampled_floor(void **slots) { return (void **)-((uintptr_t)slots + sizeof *slots); }

static void mark_class(struct hak_context *x, unsigned c) {
  unsigned eyes = hak_calls_observers();
  bool closed = hak_has_class(x->closed, c), all = hak_calls_see_frees(eyes) || closed;
  void **open = eyes != 0 ? sampled_floor(x->slots[c]) : x->slots[c];
  hak_store(&x->floor[c], all ? RAISED_FLOOR : open);
  hak_store(&x->ceiling[c], all || x->slots[c] == NULL ? NULL : x->slots[c] + x->capacity[c]);
}

/* Once more if there are observers by then: a floor raised by another thread may have been overwritten. */
void hak_marks_open(struct hak_context *x, unsigned c) {
  mark_class(x, c);
  hak_fence();
  if (HAK_UNLIKELY(hak_calls_observers() != 0)) mark_class(x, c);
}

void hak_marks_open_all(struct hak_context *x) {
  unsigned eyes;
  do { /* again if the observers changed: a floor raised in between was overwritten */
    eyes = hak_calls_observers();
    for (unsigned c = 0; c < HAK_CLASSES; c++) mark_class(x, c);
    hak_store(&x->eyes, (uint8_t)eyes);
    hak_fence();
  } while (eyes != hak_calls_observers());
}

static void raise_class(struct hak_context *x, unsigned c, bool all) {
  hak_store(&x->floor[c], RAISED_FLOOR);
  if (all) hak_store(&x->ceiling[c], NULL);
}

void hak_marks_close(struct hak_context *x, unsigned c) { raise_class(x, c, true); }

static void raise_marks(struct hak_context *x, bool all) {
  for (unsigned c = 0; c < HAK_CLASSES; c++) raise_class(x, c, all);
  hak_store(&x->eyes, EYES_UNKNOWN);
}

/* The owner's next slow path reads the observers and opens each class that may be open: also when the last observer has
 * gone, as the sampler serves calls without that path. */
void hak_marks_close_all(void) {
  hak_fence();
  unsigned eyes = hak_calls_observers();
  for (struct hak_context *x = hak_registry_first(); x != NULL; x = hak_registry_next(x)) {
    bool observed = eyes != 0 || hak_load(&x->eyes) != 0;
    if (hak_load_acquire(&x->in_use) && observed) raise_marks(x, hak_calls_see_frees(eyes));
  }
}
