/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* traced.c: the slow paths while calls are counted, traced or sampled.
 *
 * what      See traced.h. In one build each function is always reached in the same way, by a call or by a jump, so the
 *           distance of its frame from the program's frame is the same in every run.
 */
#include "entry/traced.h"

#include <stdint.h>

#include "entry/sampled.h"
#include "entry/slow_path.h"
#include "entry/thread.h"
#include "record/trace.h"
#include "tables/calls.h"

/* The first call of a process may come before the settings are read. */
static bool is_traced(void) {
  if (hak_load(&g_calls) == HAK_CALLS_UNKNOWN) hak_process_start();
  return hak_calls_are_traced();
}

/* Sets where a sample's stack begins. */
#define MARK_FRAME() (hak_pace.frame = __builtin_frame_address(0))

#define PLACE(site) ((struct hak_trace_place){site, __builtin_frame_address(0)})

void *hak_traced_malloc(size_t n, const void *site) {
  bool traced = is_traced();
  MARK_FRAME();
  void *p = hak_calls_are_sampled() ? hak_sampled_malloc(n, site) : hak_untraced_malloc(n, site);
  if (traced) hak_trace_came(HAK_TRACE_ALLOC, p, n, 0, PLACE(site));
  return p;
}

void *hak_traced_calloc(size_t count, size_t size, const void *site) {
  bool traced = is_traced();
  MARK_FRAME();
  size_t n;
  if (__builtin_mul_overflow(count, size, &n)) n = SIZE_MAX;
  void *p = hak_untraced_calloc(count, size, site);
  if (traced) hak_trace_came(HAK_TRACE_ZEROED, p, n, 0, PLACE(site));
  return p;
}

void *hak_traced_memalign(size_t align, size_t n, const void *site) {
  bool traced = is_traced();
  MARK_FRAME();
  void *p = hak_untraced_memalign(align, n, site);
  if (traced) hak_trace_came(HAK_TRACE_ALIGNED, p, n, align, PLACE(site));
  return p;
}

void hak_traced_free(void *p, const void *site) {
  bool traced = is_traced();
  if (p == NULL) {
    hak_slow_count(HAK_COUNTER_free_null);
    return;
  }
  if (traced) hak_trace_went(p, PLACE(site));
  hak_untraced_free(p, site, true);
}

/* realloc(p, 0) frees; realloc(NULL, n) is a malloc. */
static HAK_NOINLINE void *traced_realloc(void *p, size_t n, const void *site) {
  bool traced = is_traced();
  MARK_FRAME();
  if (traced && p != NULL && n == 0) hak_trace_went(p, PLACE(site));
  uint64_t began = traced ? hak_trace_now() : 0;
  void *q = hak_calls_are_marked() ? hak_sampled_realloc(p, n, site) : hak_untraced_realloc(p, n, site);
  if (traced && p == NULL) hak_trace_came(HAK_TRACE_ALLOC, q, n, 0, PLACE(site));
  if (traced && p != NULL && n != 0) hak_trace_resized(p, q, n, began, PLACE(site));
  return q;
}

/* True if the sampler alone is told, and not of this block: one with a class is never sampled. */
static bool tells_nothing(const void *p) {
  unsigned eyes = hak_load(&g_calls);
  return eyes != HAK_CALLS_UNKNOWN && !hak_calls_see_frees(eyes) && hak_is_slab_class(hak_range_class(p));
}

void *hak_traced_realloc(void *p, size_t n, const void *site) {
  if (n == 0 || !tells_nothing(p)) return traced_realloc(p, n, site);
  MARK_FRAME();
  return hak_untraced_realloc(p, n, site);
}
