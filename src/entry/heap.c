/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* heap.c: operations on the whole heap.
 *
 * what      See heap.h. hak_slow_usable and hak_heap_owns are in slow_path.c.
 */
#include "entry/heap.h"

#include <errno.h>

#include "cache/after_fork.h"
#include "cache/magazine.h"
#include "cache/marks.h"
#include "entry/guard.h"
#include "entry/profiling.h"
#include "entry/secured.h"
#include "entry/slow_path.h"
#include "learn/learn.h"
#include "observe/stats.h"
#include "observe/utilization.h"
#include "os/fork.h"
#include "reclaim/background_thread.h"
#include "reclaim/release_all.h"
#include "reclaim/trigger.h"
#include "record/profile_samples.h"
#include "retain/memory_limit.h"
#include "runs/runs.h"
#include "tables/calls.h"

/* The background thread ends first: memory in the middle of a release is invisible to a trim. */
bool hak_heap_trim(size_t pad) {
  if (HAK_SECURE) hak_secured_empty(false);
  hak_background_finish();
  hak_slow_enter(NULL, __builtin_return_address(0));
  hak_after_fork_all();
  bool turn = hak_trigger_take_turn();
  size_t gone = hak_release_all(pad);
  hak_runs_unmap_excess();
  hak_trigger_drop_turn(turn);
  hak_slow_leave();
  return gone != 0;
}

void hak_heap_stats(struct hak_stats *s) {
  hak_slow_enter(NULL, __builtin_return_address(0));
  hak_stats_read(s);
  hak_slow_leave();
}

size_t hak_heap_in_use(void) {
  struct hak_stats s = {0};
  hak_heap_stats(&s);
  return (size_t)s.in_use;
}

int hak_heap_settings_changed(void) {
  hak_fork_watch();
  if (hak_setting(profile) != 0) hak_profiling_begin();
  else hak_samples_miss();
  if (hak_setting(guard_bytes) != 0) hak_guard_begin();
  hak_calls_heed();
  int error = hak_learn_heed();
  hak_marks_close_all();
  hak_slow_enter(NULL, __builtin_return_address(0));
  if (hak_memory_limit_reset() && hak_memory_limit_ask(hak_footprint())) hak_release_all(0);
  hak_trigger_reclaim(); /* the price may have changed */
  hak_background_wake();
  hak_slow_leave();
  return error;
}

int hak_heap_utilization(const void *p, struct hak_utilization *u) {
  hak_slow_enter(p, __builtin_return_address(0));
  bool found = hak_utilization_of(p, u);
  hak_slow_leave();
  return found ? 0 : ENOENT;
}
