/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* account.h: bytes freed since the last reclaim, and what is due at the next slow path.
 *
 * what      freed_bytes counts all freed bytes; net_bytes counts bytes put back to slabs minus bytes taken from slabs.
 *           Past a threshold of either, the next slow path releases a part of the aged free memory (entry/due.c).
 *           While the background thread is awake, that thread releases and nothing is counted.
 *
 *              free --> freed_bytes, net_bytes --due--> next slow path --> background thread awake ? - : release a part
 *
 * owner     g_account (in account.c).
 * orders    Relaxed. A due bit lost in a race is set again by a later free.
 * hot path  No; one comparison per slow path.
 * not here  The reclaim: reclaim/trigger.h. The sum over all kinds of memory: reclaim/peak_limit.h.
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

/* [bytes] Freed bytes until a reclaim is due; divisor for the bytes of a freed run; first threshold of net_bytes. */
enum { HAK_RECLAIM_BYTES = 16 << 20, HAK_RUN_WEIGHT = 128, HAK_RECLAIM_SOON = 256 << 10 };

/* [bytes] Free memory that pays for a background thread. A start costs about 0.1 ms of CPU time, the cost of 1 MiB
 * kept for 0.2 s at the balanced price. An error by a factor of 2 decides whether a program that frees 1 MiB gets a
 * thread. */
enum { HAK_BACKGROUND_WORTH = 1 << 20 };

/* [bytes] The same while a single thread of several allocates. */
enum { HAK_BACKGROUND_WORTH_LONE = 4 << 20 };

/* What another process asks for: to sample calls, and to end that. */
enum { HAK_ASKED_NOTHING, HAK_ASKED_SAMPLE, HAK_ASKED_REST };

/* Work due at the head of a slow path (entry/due.c). */
enum { HAK_DUE_RECLAIM = 1, HAK_DUE_COUNT = 2, HAK_DUE_SHOW = 4, HAK_DUE_DRAIN = 8 };
enum { HAK_DUE_SELDOM = HAK_DUE_DRAIN | 0xff00 }; /* of `work`: a drain, or any request */

struct hak_account {
  int64_t freed_bytes; /* since the last reclaim, while the background thread is asleep */
  int64_t net_bytes;   /* put back to slabs minus taken from slabs */
  int64_t due_bytes;   /* net_bytes above this threshold makes a reclaim due */
  union {
    uint16_t work; /* due, in the low byte, and asked, in one load */
    struct {
      uint8_t due;   /* HAK_DUE_RECLAIM: past a threshold; HAK_DUE_DRAIN: a thread found no budget */
      uint8_t asked; /* written by another process (observe/asked.h) */
    };
  };
  uint8_t counts;      /* HAK_DUE_COUNT while slow paths are counted, else 0 */
  uint8_t shows;       /* HAK_DUE_SHOW if there is a statistics page, else 0 */
  bool watched;        /* the background thread is awake */
  bool lent;           /* calls are sampled for another process, which ends that (observe/asked.h) */
  bool capacities;     /* some class has a learnt capacity (cache/capacity.h) */
  uint64_t refused_ms; /* when no background thread could start; 0: never, or the last attempt succeeded */
  uint64_t lone_ms;    /* when the kernel last counted no thread beside the one with magazines; 0: never */
};
extern HAK_HIDDEN struct hak_account g_account;

/* Bits due at each slow path. */
static inline uint8_t hak_account_always(void) {
  return (uint8_t)(hak_load(&g_account.counts) | hak_load(&g_account.shows));
}

/* True if work is due: the repair of a fork's child, a reclaim, a drain, counting slow paths, showing the state, or a
 * request of another process. */
static inline bool hak_account_is_due(void) { return hak_after_fork_is_due() || hak_load(&g_account.work) != 0; }

/* Makes a reclaim due at the next slow path. */
static inline void hak_account_request(void) {
  hak_store(&g_account.due, (uint8_t)(HAK_DUE_RECLAIM | hak_account_always()));
}
static inline bool hak_account_is_requested(void) { return (hak_load(&g_account.due) & HAK_DUE_RECLAIM) != 0; }

/* Makes a drain of idle threads' magazines due at the next slow path: a thread found no budget. */
static inline void hak_account_starve(void) {
  hak_store(&g_account.due, (uint8_t)(hak_load(&g_account.due) | HAK_DUE_DRAIN));
}

/* In a fork's child: ends a sampling that another process asked the parent for, as the asker reads the parent's samples
 * alone. */
static inline void hak_account_rest(void) {
  hak_store(&g_account.asked, (uint8_t)(hak_load(&g_account.lent) ? HAK_ASKED_REST : HAK_ASKED_NOTHING));
}

/* The program switches its sampling itself: what another process asked for is over. */
static inline void hak_account_own_samples(void) { hak_store(&g_account.lent, false); }

/* Counts slow paths from now on, or stops. */
void hak_account_count_paths(bool on);

/* Shows the state at slow paths from now on (observe/stats_page.h). */
void hak_account_show(void);

/* Counts from zero. The next reclaim is due once net_bytes > this argument. */
void hak_account_begin(int64_t net_bytes);

/* The background thread wakes up (true: counting stops) or falls asleep (counting begins from zero). */
void hak_account_watch(bool awake);

/* Adds, without a lock prefix while the process is single-threaded. */
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

/* Accounts bytes of slots put back to slabs, or taken from slabs. */
static inline void hak_account_freed(size_t bytes) {
  if (!hak_load(&g_account.watched)) hak_account_note((int64_t)bytes, (int64_t)bytes);
}
static inline void hak_account_taken(size_t bytes) {
  hak_memory_limit_taken(bytes);
  if (!hak_load(&g_account.watched)) hak_account_add(&g_account.net_bytes, -(int64_t)bytes);
}

/* True if a program of several threads may have a background thread and its price lets free memory go back. While a
 * single thread allocates, false for a while after a failed attempt: the kernel may count no other thread. */
bool hak_account_may_have_background(void);

/* Free bytes that pay for a background thread. */
static inline uint64_t hak_background_worth(void) {
  return hak_registry_count() > 1 ? (uint64_t)HAK_BACKGROUND_WORTH : (uint64_t)HAK_BACKGROUND_WORTH_LONE;
}

/* True for a while after an attempt to start a background thread that failed; while a single thread has magazines, also
 * after the kernel counted no other. */
bool hak_account_was_refused(void);

/* True if runs and big blocks are to be released now: more dirty runs than may stay, or enough free memory to start a
 * background thread in a program of several threads. A thread may not allocate again for seconds, and memory that may
 * stay now may not stay for ever. */
static inline bool hak_account_runs_are_due(void) {
  if (hak_footprint_idles()) return true;
  uint64_t free_bytes = hak_load(&g_footprint.dirty) + hak_load(&g_footprint.big_cached);
  bool much = !hak_is_single_threaded() && free_bytes >= hak_background_worth();
  return much && hak_account_may_have_background();
}

#endif
