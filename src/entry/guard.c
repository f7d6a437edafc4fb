/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guard.c: guarded blocks, by the setting guard_bytes.
 *
 * what      See guard.h.
 */
#include "entry/guard.h"

#include "blocks/guarded.h"
#include "entry/sampled.h"
#include "entry/slow_path.h"
#include "observe/crash.h"
#include "observe/guard_report.h"
#include "os/os.h"
#include "record/profile_backtrace.h"

static HAK_NOINLINE void walk(struct hak_guarded_stack *stack, const void *site, const void *frame) {
  uint64_t frames[HAK_BACKTRACE_MOST];
  hak_pace.walks = true;
  unsigned depth = hak_backtrace_take(frames, site, frame, NULL);
  hak_pace.walks = false;
  stack->thread = hak_guarded_thread();
  stack->depth = (uint32_t)hak_min(depth, HAK_GUARDED_FRAMES);
  memcpy(stack->frame, frames, stack->depth * sizeof *frames);
}

HAK_NOINLINE void *hak_guard_malloc(size_t n, const void *site) {
  if (n > hak_min(hak_guarded_most(), HAK_SLAB_MAX)) return NULL;
  struct hak_guarded_stack stack;
  const void *frame = hak_pace.frame;
  hak_slow_enter_for(n, NULL, site); /* the process and the thread begin with this block, if it is their first */
  hak_slow_leave();
  walk(&stack, site, frame);
  void *p = hak_guarded_take(n, (uint32_t)(hak_pace.chance >> 32), &stack);
  if (p != NULL) hak_count(HAK_COUNTER_guarded, 1);
  return p;
}

HAK_NOINLINE void hak_guard_free(void *p, const void *site) {
  struct hak_guarded_stack stack;
  walk(&stack, site, __builtin_frame_address(0));
  enum hak_error error = hak_guarded_put(p, &stack);
  if (error == HAK_ERROR_none) return;
  hak_guard_report_free(error, p, &stack);
  hak_die(error, p, 0, site);
}

HAK_NOINLINE void hak_guard_tell(enum hak_error error, const void *p, const void *site) {
  struct hak_guarded_stack stack;
  walk(&stack, site, __builtin_frame_address(0));
  hak_guard_report_free(error, p, &stack);
}

/* In a sandbox, which may end the process for installing a handler, faults are reported if they were before. */
void hak_guard_begin(void) {
  hak_backtrace_prepare();
  if (!hak_crash_is_in_sandbox()) hak_crash_begin_guards();
}
