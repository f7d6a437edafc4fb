/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* caches.h: learnt capacities, by class, of magazines and of the depot.
 *
 * what      In the modes that learn, slow calls of magazines (a refill or a flush) are counted by class, and 1 in 64 is
 *           timed. At a window's end (learn/learner.h) two controllers (learn/ace.h) note the window for each class
 *           with slow calls: for a thread's capacity and for the depot's bound. The result is a word of the class:
 *
 *               bits   | 0 .. 7                  | 8 .. 15                   | 16 .. 23              |   0: as usual
 *                      | log2 of the most blocks | log2 of the depot's bytes | eighths of a magazine |
 *                      | in a magazine           | per thread                | that a flush moves    |
 *
 *           A learnt capacity above the usual value may fill the thread's whole budget, thread_cache_bytes. Classes of
 *           runs do not learn: a magazine of runs costs nothing where free runs may stay in any case.
 *           In mode frozen the words stay as read from a policy, or as learnt before. In a policy, twins of a class are
 *           one row, that of the twin with the most windows.
 * owner     g_caches (in caches.c): the holder of the learner's claim; the counters: any thread. The words: the holder.
 * locks     Takes g_closed_lock, which excludes drains, to count blocks.
 * orders    Relaxed: a word is complete by itself.
 * hot path  No. In the modes that do not learn a slow call has a single test for this.
 * failure   Settings, budgets and limits bound a class, whatever the class's word says.
 * not here  Readers of the words: cache/magazine.c.
 */
#ifndef HAK_LEARN_CACHES_H
#define HAK_LEARN_CACHES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "cache/account.h"
#include "learn/learner.h"
#include "learn/rows.h"
#include "tables/classes.h"

/* A slow call of a magazine begins. `turns`: the previous slow call of this magazine moved blocks the opposite way.
 * Returns `begun` for hak_caches_passed, never 0. */
uint64_t hak_caches_begin(bool turns);

/* The slow call of class c ended: a flush or a refill, with the depot, or `behind` the depot with the slabs. */
void hak_caches_passed(unsigned c, bool flush, bool behind, uint64_t begun);

/* Learns from a window that ended. Lock: the learner's claim held. */
void hak_caches_learn(const struct hak_learner_window *window);

/* Call after a change of mode or setting. If no word counts from here on, all words become 0 (as usual). */
void hak_caches_heed(void);

/* The row `capacity` of a policy (rows.h): block size, the word's three parts, windows learnt from, the sums of both
 * controllers. Place: class. */
enum { HAK_CACHES_WINDOWS = UINT16_MAX, HAK_CACHES_LEAST_LOG = 3, HAK_CACHES_RUNGS = 8, HAK_CACHES_EIGHTHS = 6 };
bool hak_caches_out(unsigned which, unsigned c, uint64_t *number);
bool hak_caches_in(unsigned which, const uint64_t *number, enum hak_row_use use);

#endif
