/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* traced.c: the doors, while calls are watched.
 *
 * what      See traced.h. Called by jumps or by calls, in one build always in the same way: so the frame's address is
 *           as far from the program's own in every run.
 */
#include "front/traced.h"

#include <stdint.h>

#include "core/calls.h"
#include "front/door.h"
#include "front/thread.h"
#include "trace/trace.h"

/* The first call of a process may come before its settings were read. */
static bool is_traced(void) {
  if (hak_load(&g_calls) == HAK_CALLS_UNKNOWN) hak_thread_settle();
  return hak_calls_are_traced();
}

#define PLACE(site) ((struct hak_trace_place){site, __builtin_frame_address(0)})

void *hak_traced_malloc(size_t n, const void *site) {
  bool traced = is_traced();
  void *p = hak_door_malloc(n, site);
  if (traced) hak_trace_came(HAK_TRACE_ALLOC, p, n, 0, PLACE(site));
  return p;
}

void *hak_traced_calloc(size_t count, size_t size, const void *site) {
  bool traced = is_traced();
  size_t n;
  if (__builtin_mul_overflow(count, size, &n)) n = SIZE_MAX;
  void *p = hak_door_calloc(count, size, site);
  if (traced) hak_trace_came(HAK_TRACE_ZEROED, p, n, 0, PLACE(site));
  return p;
}

void *hak_traced_memalign(size_t align, size_t n, const void *site) {
  bool traced = is_traced();
  void *p = hak_door_memalign(align, n, site);
  if (traced) hak_trace_came(HAK_TRACE_ALIGNED, p, n, align, PLACE(site));
  return p;
}

void hak_traced_free(void *p, const void *site) {
  bool traced = is_traced();
  if (p == NULL) {
    hak_door_count(HAK_COUNTER_free_null);
    return;
  }
  if (traced) hak_trace_went(p, PLACE(site));
  hak_door_free(p, site, true);
}

/* realloc(p, 0) frees; realloc(NULL, n) is a malloc. */
void *hak_traced_realloc(void *p, size_t n, const void *site) {
  bool traced = is_traced();
  if (traced && p != NULL && n == 0) hak_trace_went(p, PLACE(site));
  uint64_t began = traced ? hak_trace_now() : 0;
  void *q = hak_door_realloc(p, n, site);
  if (traced && p == NULL) hak_trace_came(HAK_TRACE_ALLOC, q, n, 0, PLACE(site));
  if (traced && p != NULL && n != 0) hak_trace_resized(p, q, n, began, PLACE(site));
  return q;
}
