/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* calls.h: which observers see every call.
 *
 * what      One word that the slow paths read, made of the settings `count_calls`, `profile`, `guard_bytes` and
 *           `checks` and of the presence of a trace. While an observer is set, each magazine's floor is above its top
 *           and its ceiling is 0, so every call takes the slow path. Sampling raises the floor only: a free tells the
 *           sampler nothing.
 *
 *               0 unknown ---settings read---> 1 unobserved | 2 counted | 4 traced | 8 sampled | 16 marked | 32 checked
 *
 * owner     g_calls (in calls.c).
 * orders    Relaxed. A thread that moves floors and ceilings fences first.
 * hot path  realloc within its class reads the word.
 * not here  Counting: counters.h. The trace: record/trace.h. Floors and ceilings: cache/magazine.h.
 */
#ifndef HAK_TABLES_CALLS_H
#define HAK_TABLES_CALLS_H

#include <stdbool.h>

#include "base/atomic.h"
#include "base/bits.h"

enum {
  HAK_CALLS_UNKNOWN = 0,
  HAK_CALLS_UNOBSERVED = 1,
  HAK_CALLS_COUNTED = 2,
  HAK_CALLS_TRACED = 4,
  HAK_CALLS_SAMPLED = 8,
  HAK_CALLS_MARKED = 16, /* sampled blocks may exist: a free without a class searches the samples. Never cleared */
  HAK_CALLS_CHECKED = 32 /* threads have no magazines, so each call takes the slow path (entry/thread.c) */
};
extern HAK_HIDDEN unsigned g_calls;

/* True once the settings were read, if no observer is set. */
static inline bool hak_calls_are_unobserved(void) { return hak_load(&g_calls) == HAK_CALLS_UNOBSERVED; }

/* True if each free, too, takes the slow path. */
static inline bool hak_calls_see_frees(unsigned eyes) {
  return (eyes & (HAK_CALLS_COUNTED | HAK_CALLS_TRACED | HAK_CALLS_CHECKED)) != 0;
}
static inline bool hak_calls_are_observed(void) { return hak_calls_see_frees(hak_load(&g_calls)); }
static inline bool hak_calls_are_traced(void) { return (hak_load(&g_calls) & HAK_CALLS_TRACED) != 0; }
static inline bool hak_calls_are_sampled(void) { return (hak_load(&g_calls) & HAK_CALLS_SAMPLED) != 0; }
static inline bool hak_calls_are_checked(void) { return (hak_load(&g_calls) & HAK_CALLS_CHECKED) != 0; }
static inline bool hak_calls_are_marked(void) { return (hak_load(&g_calls) & HAK_CALLS_MARKED) != 0; }

/* The observers by which a thread sets its floors and ceilings; 0: none. */
static inline unsigned hak_calls_observers(void) {
  return hak_load(&g_calls) & (HAK_CALLS_COUNTED | HAK_CALLS_TRACED | HAK_CALLS_SAMPLED);
}

/* Changes the word from unknown to unobserved. True for exactly one caller, which must read the settings next. */
bool hak_calls_settle(void);

/* Brings the word up to date after a possible change of `count_calls`, `profile` or `checks`. */
void hak_calls_heed(void);

/* Marks every later call as traced. */
void hak_calls_trace(void);

#endif
