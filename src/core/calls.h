/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* calls.h: whether anyone looks at every call.
 *
 * what      One word that the slow doors ask, made of the setting `count` and of whether a trace is written. While it
 *           says that somebody does, the magazines' marks are raised, so that every call comes to a slow door.
 *
 *               0 unknown ---settings read---> 1 unseen | 2 counted | 4 traced
 *
 * owner     g_calls (in calls.c).
 * orders    Relaxed; whoever raises the marks fences first.
 * hot path  realloc within its class reads the word.
 * not here  Counting: counters.h. The trace: trace/trace.h. The marks: front/magazine.h.
 */
#ifndef HAK_CORE_CALLS_H
#define HAK_CORE_CALLS_H

#include <stdbool.h>

#include "base/atomic.h"
#include "base/bits.h"

enum { HAK_CALLS_UNKNOWN = 0, HAK_CALLS_UNSEEN = 1, HAK_CALLS_COUNTED = 2, HAK_CALLS_TRACED = 4 };
extern HAK_HIDDEN unsigned g_calls;

/* The settings were read, and nobody looks. */
static inline bool hak_calls_are_unseen(void) { return hak_load(&g_calls) == HAK_CALLS_UNSEEN; }

static inline bool hak_calls_are_watched(void) { return hak_load(&g_calls) > HAK_CALLS_UNSEEN; }
static inline bool hak_calls_are_traced(void) { return (hak_load(&g_calls) & HAK_CALLS_TRACED) != 0; }

/* True for one caller only, who reads the settings then: they are not unknown any more. */
bool hak_calls_settle(void);

/* The setting `count` may have changed. */
void hak_calls_heed(void);

/* From here on a trace is written. */
void hak_calls_trace(void);

#endif
