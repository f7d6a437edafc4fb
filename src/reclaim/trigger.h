/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trigger.h: free memory is looked through.
 *
 * what      By the background thread of a program of several threads, else by the slow path that found it due
 *           (cache/account.h says when).
 * locks     Only those of runs and blocks, inside their calls.
 * orders    Relaxed.
 * not here  What grows old, and how: release.h. Forks: cache/after_fork.h. The sum over all kinds of memory:
 *           peak_limit.h.
 */
#ifndef HAK_RECLAIM_TRIGGER_H
#define HAK_RECLAIM_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/account.h"

/* Gives back some of what has grown old, or has the background thread do it. */
void hak_trigger_reclaim(void);

/* A run or a big block of so many bytes went back. That needs no search, so it weighs little. */
static inline void hak_trigger_freed_run(size_t bytes) {
  if (hak_load(&g_account.watched)) return;
  hak_account_note((int64_t)(bytes / HAK_RUN_WEIGHT), 0);
  if (HAK_UNLIKELY(hak_account_runs_are_due())) hak_trigger_reclaim();
}

/* All threads but one have ended. Then there is no background thread, and the one that is left may sleep: free runs and
 * big blocks go at once, but for the least. Unless threads end in a loop, so that the next ones take it again: all but
 * one had ended within a rent before, and left half as much free or more. */
void hak_trigger_threads_ended(void);

/* No memory was to be had for n bytes: all that is free goes back, addresses too. False: there was none, or it did not
 * help a moment ago either. */
bool hak_trigger_release_for_oom(size_t n);

#endif
