/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trigger.h: when free memory is looked through.
 *
 * what      Counts bytes freed, by which slow doors know when it is time to see what has grown old: much was freed at
 *           all, or more went back to slabs than was taken from them. A program of several threads has a helper for it.
 *
 *               free --> freed_bytes, net_bytes --due--> the next slow door --> helper awake? it : ageing, some of it
 *
 * owner     g_trigger (in trigger.c).
 * locks     Only the boxes', inside their calls.
 * orders    Relaxed.
 * hot path  No; one comparison per slow door.
 * not here  What grows old, and how: release.h. Forks: after_fork.h. The sum over the boxes: peak_limit.h.
 */
#ifndef HAK_RECLAIM_TRIGGER_H
#define HAK_RECLAIM_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "cache/after_fork.h"
#include "cache/registry.h"
#include "os/lock.h"
#include "reclaim/background_thread.h"
#include "reclaim/memory_limit.h"
#include "retain/footprint.h"

/* Freed between two reclaims, whatever was taken again; a run's bytes count for less. */
enum { HAK_RECLAIM_BYTES = 16 << 20, HAK_RUN_WEIGHT = 128, HAK_RECLAIM_SOON = 256 << 10 };

/* Why a slow door stops at the caretaker. */
enum { HAK_DUE_RECLAIM = 1, HAK_DUE_COUNT = 2, HAK_DUE_SHOW = 4 };

struct hak_trigger {
  int64_t freed_bytes; /* since the last reclaim, while nobody watches */
  int64_t net_bytes;   /* that went to slabs, less those that were taken */
  int64_t due_bytes;   /* so many are reason for one, too */
  uint8_t due;         /* HAK_DUE_RECLAIM: one of both has come to be */
  uint8_t counts;      /* HAK_DUE_COUNT, if slow doors are counted; 0 */
  uint8_t shows;       /* HAK_DUE_SHOW, if there is a statistics page; 0 */
  bool watched;        /* the helper thread is awake */
};
extern HAK_HIDDEN struct hak_trigger g_trigger;

/* What is due at each slow door. */
static inline uint8_t hak_trigger_always(void) {
  return (uint8_t)(hak_load(&g_trigger.counts) | hak_load(&g_trigger.shows));
}

/* Is this a fork's child that was not repaired yet, was much freed, are slow doors counted or the state shown? */
static inline bool hak_trigger_is_due(void) { return hak_after_fork_is_due() || hak_load(&g_trigger.due); }

/* Repairs some of what a fork cut, or reclaims. At the head of a slow door for n bytes (0: for none), with no lock
 * held. */
void hak_trigger_work(size_t n);

/* The next slow door reclaims. */
static inline void hak_trigger_request(void) {
  hak_store(&g_trigger.due, (uint8_t)(HAK_DUE_RECLAIM | hak_trigger_always()));
}
static inline bool hak_trigger_is_requested(void) { return (hak_load(&g_trigger.due) & HAK_DUE_RECLAIM) != 0; }

/* From here on slow doors are counted (guest/learner.h), or are not. */
void hak_trigger_count_doors(bool on);

/* From here on the state is shown at slow doors (observe/stats_page.h). */
void hak_trigger_show_doors(void);

/* Adds, without a lock prefix while there is one thread. */
static inline void hak_trigger_add(int64_t *cell, int64_t bytes) {
  if (hak_alone()) hak_store(cell, hak_load(cell) + bytes);
  else hak_add(cell, bytes);
}

static inline void hak_trigger_account(int64_t freed, int64_t net) {
  struct hak_trigger *g = &g_trigger;
  hak_trigger_add(&g->freed_bytes, freed);
  if (net != 0) hak_trigger_add(&g->net_bytes, net);
  bool due = hak_load(&g->freed_bytes) >= HAK_RECLAIM_BYTES || hak_load(&g->net_bytes) > hak_load(&g->due_bytes);
  if (HAK_UNLIKELY(due)) hak_trigger_request();
}

/* So many bytes of slots went back to slabs, or were taken from them. */
static inline void hak_trigger_freed(size_t bytes) {
  if (!hak_load(&g_trigger.watched)) hak_trigger_account((int64_t)bytes, (int64_t)bytes);
}
static inline void hak_trigger_taken(size_t bytes) {
  hak_memory_limit_taken(bytes);
  if (!hak_load(&g_trigger.watched)) hak_trigger_add(&g_trigger.net_bytes, -(int64_t)bytes);
}

/* Gives back some of what has grown old, or has the helper thread do it. */
void hak_trigger_reclaim(void);

/* May a program of several threads have a helper? */
bool hak_trigger_may_have_helper(void);

/* Is it time to see to free runs and big blocks: are there more than may stay, or so many that a program of several
 * threads is to have a helper, which it has not? It may not call again for long, and what may stay now may not stay for
 * ever. */
static inline bool hak_trigger_runs_are_due(void) {
  if (hak_footprint_idles()) return true;
  uint64_t free_bytes = hak_load(&g_footprint.dirty) + hak_load(&g_footprint.big_cached);
  bool much = free_bytes >= HAK_BACKGROUND_WORTH && !hak_alone();
  return much && hak_registry_count() > 1 && hak_trigger_may_have_helper();
}

/* A run or a big block went back. That needs no search, so it weighs little. */
static inline void hak_trigger_freed_run(size_t bytes) {
  if (hak_load(&g_trigger.watched)) return;
  hak_trigger_account((int64_t)(bytes / HAK_RUN_WEIGHT), 0);
  if (HAK_UNLIKELY(hak_trigger_runs_are_due())) hak_trigger_reclaim();
}

/* The helper thread wakes up, or falls asleep. */
void hak_trigger_watch(bool awake);

/* All threads but one have ended. Then there is no helper, and the one that is left may sleep: free runs and big blocks
 * go at once, but for the least. Unless threads end in a loop, so that the next ones take it again: all but one had
 * ended within a rent before, and left half as much free or more. */
void hak_trigger_threads_ended(void);

/* No memory was to be had for n bytes: all that is free goes back, addresses too. False: there was none, or it did not
 * help a moment ago either. */
bool hak_trigger_release_for_oom(size_t n);

#endif
