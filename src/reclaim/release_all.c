/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* release_all.c: the heap as a whole.
 *
 * what      Trim and statistics: every box is asked in turn.
 * locks     Only the boxes', inside their calls.
 * orders    Sums over threads are exact when no other thread is inside a call.
 * failure   A wrong pointer found while trimming ends the program.
 * not here  The text of a report: watch.
 */
#include "reclaim/release_all.h"

#include "blocks/big.h"
#include "blocks/large.h"
#include "blocks/slab.h"
#include "blocks/slab_sampled.h"
#include "cache/magazine.h"
#include "cache/registry.h"
#include "entry/fast_path.h"
#include "entry/profiling.h"
#include "entry/slow_path.h"
#include "guest/learner.h"
#include "os/fork.h"
#include "reclaim/background_thread.h"
#include "reclaim/drain_idle.h"
#include "reclaim/peak_limit.h"
#include "runs/runs.h"
#include "tables/calls.h"
#include "tables/classes.h"
#include "tables/meta.h"
#include "tables/range.h"
#include "tables/site.h"

/* ---- trim ---- */

size_t hak_release_all(size_t pad) {
  struct hak_fault fault = {HAK_ERRORS, NULL};
  struct hak_sweep sweep = {.units = UINT32_MAX};
  if (hak_context != &g_empty_context) hak_magazine_close_all(hak_context, &fault);
  hak_drain_all(&fault);
  hak_magazine_drain_depot(&fault);
  hak_slab_report(&fault, NULL); /* while the slab is still there, and its class known */
  hak_slab_trim();
  size_t gone = hak_big_trim(pad);
  hak_big_retry();
  uint64_t kept = hak_load(&g_footprint.big_cached);
  gone += hak_runs_purge(pad > kept ? pad - kept : 0);
  do {
    gone += hak_slab_sweep(&sweep);
  } while (sweep.at != 0);
  return gone;
}

/* The helper may be giving back what this finds no more. */
bool hak_heap_trim(size_t pad) {
  hak_background_finish();
  hak_slow_enter(NULL, __builtin_return_address(0));
  hak_after_fork_all();
  size_t gone = hak_release_all(pad);
  hak_runs_unmap_excess();
  hak_slow_leave();
  return gone != 0;
}

/* ---- statistics ---- */

static void slab_stats(struct hak_stats *s) {
  hak_slab_sampled_sums(&s->slab_live, &s->slab_bytes);
  for (unsigned c = 1, end = hak_class_end(); c < end; c++) {
    uint64_t units;
    s->slab_live += hak_slab_handed_out(c, &units) * g_class[c].bytes;
    s->slab_bytes += units << HAK_UNIT_SHIFT;
  }
  s->cached = hak_magazine_cached_bytes();
}

void hak_heap_read_stats(struct hak_stats *s) {
  slab_stats(s);
  hak_big_bytes_now(&s->big_live, &s->big_cached);
  s->big_blocks = hak_big_live_blocks();
  hak_runs_bytes(&s->span_dirty, &s->span_clean);
  s->large_live = hak_large_handed_out();
  s->metadata = hak_meta_bytes() + hak_range_table_bytes() + hak_big_table_bytes() + hak_site_table_bytes();
  s->mapped = hak_load(&g_range.mapped) + s->metadata + s->big_live + s->big_cached;
  uint64_t out = s->slab_live + s->large_live;
  s->cached = hak_min(s->cached, out); /* another thread may be between two of its stores */
  s->in_use = out - s->cached + s->big_live;
  s->threads = hak_registry_count();
}

void hak_heap_stats(struct hak_stats *s) {
  hak_slow_enter(NULL, __builtin_return_address(0));
  hak_heap_read_stats(s);
  hak_slow_leave();
}

size_t hak_heap_in_use(void) {
  struct hak_stats s = {0};
  hak_heap_stats(&s);
  return (size_t)s.in_use;
}

void hak_heap_settings_changed(void) {
  hak_fork_watch();
  if (hak_setting(profile) != 0) hak_profiling_begin();
  hak_calls_heed();
  hak_learner_heed();
  hak_magazine_mark_all();
  hak_slow_enter(NULL, __builtin_return_address(0));
  if (hak_memory_limit_reset() && hak_memory_limit_ask(hak_footprint())) hak_release_all(0);
  hak_trigger_reclaim(); /* the price may be another one */
  hak_background_wake();
  hak_slow_leave();
}
