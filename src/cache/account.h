/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* account.h: bytes freed since free memory was last looked through, and what is due at the next slow path.
 *
 * what      Much was freed at all, or more went back to slabs than was taken from them: the next slow path releases
 *           what has grown old (entry/due.c). A background thread that is awake does that, and nothing is counted.
 *
 *               free --> freed_bytes, net_bytes --due--> the next slow path --> a thread awake? it : release, some
 *
 * owner     g_account (in account.c).
 * orders    Relaxed.
 * hot path  No; one comparison per slow path.
 * not here  What is done then: reclaim/trigger.h. The sum over all kinds of memory: reclaim/peak_limit.h.
 */
#ifndef HAK_CACHE_ACCOUNT_H
#define HAK_CACHE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "cache/after_fork.h"
#include "cache/registry.h"
#include "os/lock.h"
#include "retain/footprint.h"
#include "retain/memory_limit.h"

/* Freed between two reclaims, whatever was taken again; a run's bytes count for less. */
enum { HAK_RECLAIM_BYTES = 16 << 20, HAK_RUN_WEIGHT = 128, HAK_RECLAIM_SOON = 256 << 10 };

/* A start of the background thread costs about 0.1 ms of CPU time, which is what a MiB costs in 0.2 s at the balanced
 * price. Wrong by 2: a program that frees 1 MiB gets a thread or gets none. */
enum { HAK_BACKGROUND_WORTH = 1 << 20 };

/* Why a slow path stops first. */
enum { HAK_DUE_RECLAIM = 1, HAK_DUE_COUNT = 2, HAK_DUE_SHOW = 4, HAK_DUE_DRAIN = 8 };

struct hak_account {
  int64_t freed_bytes; /* since the last reclaim, while the background thread is asleep */
  int64_t net_bytes;   /* that went to slabs, less those that were taken */
  int64_t due_bytes;   /* so many are reason for one, too */
  uint8_t due;         /* HAK_DUE_RECLAIM: one of both has come to be; HAK_DUE_DRAIN: a thread found no budget */
  uint8_t counts;      /* HAK_DUE_COUNT, if slow paths are counted; 0 */
  uint8_t shows;       /* HAK_DUE_SHOW, if there is a statistics page; 0 */
  bool watched;        /* the background thread is awake */
};
extern HAK_HIDDEN struct hak_account g_account;

/* What is due at each slow path. */
static inline uint8_t hak_account_always(void) {
  return (uint8_t)(hak_load(&g_account.counts) | hak_load(&g_account.shows));
}

/* Is this a fork's child that was not repaired yet, was much freed, are slow paths counted or the state shown? */
static inline bool hak_account_is_due(void) { return hak_after_fork_is_due() || hak_load(&g_account.due); }

/* The next slow path reclaims. */
static inline void hak_account_request(void) {
  hak_store(&g_account.due, (uint8_t)(HAK_DUE_RECLAIM | hak_account_always()));
}
static inline bool hak_account_is_requested(void) { return (hak_load(&g_account.due) & HAK_DUE_RECLAIM) != 0; }

/* A thread found all caches' budget used up: the next slow path has other threads' magazines looked at. */
static inline void hak_account_starve(void) {
  hak_store(&g_account.due, (uint8_t)(hak_load(&g_account.due) | HAK_DUE_DRAIN));
}

/* From here on slow paths are counted, or are not. */
void hak_account_count_paths(bool on);

/* From here on the state is shown at slow paths (observe/stats_page.h). */
void hak_account_show(void);

/* Counts from zero: so many more bytes may go to slabs than are taken before the next reclaim is due. */
void hak_account_begin(int64_t net_bytes);

/* The background thread wakes up, or falls asleep. */
void hak_account_watch(bool awake);

/* Adds, without a lock prefix while there is one thread. */
static inline void hak_account_add(int64_t *cell, int64_t bytes) {
  if (hak_is_single_threaded()) hak_store(cell, hak_load(cell) + bytes);
  else hak_add(cell, bytes);
}

static inline void hak_account_note(int64_t freed, int64_t net) {
  struct hak_account *g = &g_account;
  hak_account_add(&g->freed_bytes, freed);
  if (net != 0) hak_account_add(&g->net_bytes, net);
  bool due = hak_load(&g->freed_bytes) >= HAK_RECLAIM_BYTES || hak_load(&g->net_bytes) > hak_load(&g->due_bytes);
  if (HAK_UNLIKELY(due)) hak_account_request();
}

/* So many bytes of slots went back to slabs, or were taken from them. */
static inline void hak_account_freed(size_t bytes) {
  if (!hak_load(&g_account.watched)) hak_account_note((int64_t)bytes, (int64_t)bytes);
}
static inline void hak_account_taken(size_t bytes) {
  hak_memory_limit_taken(bytes);
  if (!hak_load(&g_account.watched)) hak_account_add(&g_account.net_bytes, -(int64_t)bytes);
}

/* May a program of several threads have a background thread, and does free memory go back? */
bool hak_account_may_have_background(void);

/* Is it time to release runs and big blocks: are there more than may stay, or so many that a program of several threads
 * starts a background thread, which it has not? A thread may not allocate again for seconds, and what may stay now may
 * not stay for ever. */
static inline bool hak_account_runs_are_due(void) {
  if (hak_footprint_idles()) return true;
  uint64_t free_bytes = hak_load(&g_footprint.dirty) + hak_load(&g_footprint.big_cached);
  bool much = free_bytes >= HAK_BACKGROUND_WORTH && !hak_is_single_threaded();
  return much && hak_registry_count() > 1 && hak_account_may_have_background();
}

#endif
