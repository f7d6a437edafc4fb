/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* caches.h: how many free blocks of each class threads and the depot hold, learnt.
 *
 * what      In the modes that learn, doors of magazines that were empty or full are counted by class, and one in 64 is
 *           timed. At a window's end (learn/learner.h) two controllers (learn/ace.h) of each class that had some are
 *           told: one of a thread's capacity, one of the depot's bound. What they decide is a word of the class:
 *
 *               bits   | 0 .. 7                  | 8 .. 15                  | 16 .. 23                 |   0: as usual
 *                      | log of the most blocks  | log of the depot's bytes | eighths of a magazine    |
 *                      | that a magazine holds   | by thread                | that a flush takes       |
 *
 *           A class that was raised above what is usual may take of all that its thread may cache, thread_cache_bytes.
 *           Runs are not asked about: they cost nothing where they stay free anyway (cache/magazine.c, stock_of).
 * owner     g_caches (in caches.c), by the holder of the learner's claim, but for the counters; the words.
 * locks     The drain lock, where blocks are counted.
 * orders    Relaxed: a word means something by itself.
 * hot path  No. In other modes a slow door has one test.
 * failure   Settings, budgets and limits bound what a class gets, whatever its word says.
 * not here  Who heeds the words: cache/magazine.c.
 */
#ifndef HAK_LEARN_CACHES_H
#define HAK_LEARN_CACHES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "cache/account.h"
#include "learn/learner.h"
#include "tables/classes.h"

/* A door begins, one that turns or does not; what the next one is told. */
uint64_t hak_caches_begin(bool turns);

/* It has ended: of a full magazine or an empty one, at the depot or behind it. */
void hak_caches_passed(unsigned c, bool flush, bool behind, uint64_t begun);

/* At a window's end. */
void hak_caches_learn(const struct hak_learner_window *window);

/* The mode or the switch may have changed: if nothing is learnt from here on, all is as usual. */
void hak_caches_heed(void);

#endif
