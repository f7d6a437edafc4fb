/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* calls.h: whether anyone looks at every call.
 *
 * what      One word that the slow doors ask, made of the settings `count_calls`, `profile` and `checks` and of whether
 *           a trace is written. While it says that somebody does, the magazines' marks are raised, so that every call
 *           comes to a slow door; who samples raises one mark of the two, as a free tells nothing.
 *
 *               0 unknown ---settings read---> 1 unseen | 2 counted | 4 traced | 8 sampled | 16 some block was
 *                                                       | 32 checked
 *
 * owner     g_calls (in calls.c).
 * orders    Relaxed; whoever raises the marks fences first.
 * hot path  realloc within its class reads the word.
 * not here  Counting: counters.h. The trace: record/trace.h. The marks: cache/magazine.h.
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
  HAK_CALLS_MARKED = 16, /* there may be sampled blocks: whoever frees what has no class looks. Stays */
  HAK_CALLS_CHECKED = 32 /* threads have no magazines then: each call comes to a slow door by that (entry/thread.c) */
};
extern HAK_HIDDEN unsigned g_calls;

/* The settings were read, and nobody looks. */
static inline bool hak_calls_are_unobserved(void) { return hak_load(&g_calls) == HAK_CALLS_UNOBSERVED; }

/* Does each free come to a slow door, too? */
static inline bool hak_calls_see_frees(unsigned eyes) {
  return (eyes & (HAK_CALLS_COUNTED | HAK_CALLS_TRACED | HAK_CALLS_CHECKED)) != 0;
}
static inline bool hak_calls_are_observed(void) { return hak_calls_see_frees(hak_load(&g_calls)); }
static inline bool hak_calls_are_traced(void) { return (hak_load(&g_calls) & HAK_CALLS_TRACED) != 0; }
static inline bool hak_calls_are_sampled(void) { return (hak_load(&g_calls) & HAK_CALLS_SAMPLED) != 0; }
static inline bool hak_calls_are_checked(void) { return (hak_load(&g_calls) & HAK_CALLS_CHECKED) != 0; }
static inline bool hak_calls_are_marked(void) { return (hak_load(&g_calls) & HAK_CALLS_MARKED) != 0; }

/* Sampled, and nobody looks otherwise. */
static inline bool hak_calls_are_only_sampled(void) {
  return hak_load(&g_calls) == (HAK_CALLS_UNOBSERVED | HAK_CALLS_SAMPLED | HAK_CALLS_MARKED);
}

/* Who looks: what a thread's marks are set by. 0: nobody. */
static inline unsigned hak_calls_observers(void) {
  return hak_load(&g_calls) & (HAK_CALLS_COUNTED | HAK_CALLS_TRACED | HAK_CALLS_SAMPLED);
}

/* True for one caller only, who reads the settings then: they are not unknown any more. */
bool hak_calls_settle(void);

/* The settings `count_calls` and `profile` may have changed. */
void hak_calls_heed(void);

/* From here on a trace is written. */
void hak_calls_trace(void);

#endif
