/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trigger.h: starts a release of free memory.
 *
 * what      The background thread of a program with several threads releases, else the slow path that found a release
 *           due (cache/account.h says when).
 * locks     Locks of runs and blocks, inside calls.
 * orders    Relaxed.
 * not here  What is released, and how: release.h. Forks: cache/after_fork.h. The sum over all kinds of memory:
 *           peak_limit.h.
 */
#ifndef HAK_RECLAIM_TRIGGER_H
#define HAK_RECLAIM_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/account.h"

/* Releases a part of the memory due, or has the background thread release all of it. */
void hak_trigger_reclaim(void);

/* A run or a big block of so many bytes was freed. Only 1/HAK_RUN_WEIGHT of the bytes counts, as the release needs no
 * sweep. */
static inline void hak_trigger_freed_run(size_t bytes) {
  if (hak_load(&g_account.watched)) return;
  hak_account_note((int64_t)(bytes / HAK_RUN_WEIGHT), 0);
  if (HAK_UNLIKELY(hak_account_runs_are_due())) hak_trigger_reclaim();
}

/* Drains the depot, and releases free runs and big blocks down to the keep floor at once: the caller may be the last to
 * release anything for long. */
void hak_trigger_release_rest(void);

/* One thread is left, without a background thread, and may sleep for long: as hak_trigger_release_rest. If threads end
 * in a loop, and the next threads will take the memory, the floor stays once more for each round in a row: a round is
 * an end of all threads but one within the rent time after the last, at which at least half as many bytes were free. */
void hak_trigger_threads_ended(void);

/* Memory in the middle of a release serves no request, so one thread at a time releases all. take: waits for the
 * threads before, about a second at most, as one may be stopped; true if the turn is the caller's. drop: had as
 * returned. */
bool hak_trigger_take_turn(void);
void hak_trigger_drop_turn(bool had);

/* No memory for n bytes. begin: releases all free memory, unmaps addresses, and returns true: try once more, and then
 * call end, which lets the next thread try. False: the same was in vain a moment ago. */
struct hak_rescue {
  size_t bytes;
  bool turn;
};
bool hak_trigger_rescue_begin(struct hak_rescue *rescue, size_t n);
void hak_trigger_rescue_end(const struct hak_rescue *rescue, bool served);

#endif
