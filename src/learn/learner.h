/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* learner.h: windows of slow calls, at whose end the decisions for the whole process are made.
 *
 * what      In the modes shadow and evolving every slow call (a call that takes the slow path) is counted. After 256
 *           slow calls a window ends, and each learner that is switched on notes the window's counters:
 *
 *               slow call --> entry/due.c --> hak_learner_passed --256--> window --> tune, caches
 *                                                                             \-> tables/snapshot.h, magazines
 *
 *           Ending a window has a share of the time (base/time_budget.h): the next window ends at the earliest after
 *           256 times the time that an end takes.
 * owner     g_windows (in learner.c): the holder of the claim.
 * locks     The claim: a single holder; a thread that does not get the claim goes on. Learners may take the locks of
 *           the blocks under the claim.
 * orders    Relaxed; the claim is acquire and release.
 * hot path  No. In the modes that do not learn a slow call has no instruction for this.
 * failure   A claim that a fork left held can be taken in the child.
 * not here  Keep times of big blocks by site: learn/big_keep.h.
 */
#ifndef HAK_LEARN_LEARNER_H
#define HAK_LEARN_LEARNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A window: its end, its length, and the number of slow calls. */
struct hak_learner_window {
  uint64_t now_ns, elapsed_ns, slow_calls;
};

/* Call after a change of mode or setting. */
void hak_learner_heed(void);

/* A slow call for n bytes (0: for none) begins. No lock held. */
void hak_learner_passed(size_t n);

/* Keeps windows from ending, and samples from being taken, until hak_learner_let_go: takes the claim. Waits a little
 * for the holder; false: the claim did not become free. */
bool hak_learner_hold(void);
void hak_learner_let_go(void);

/* True if decisions take effect; false if decisions are only written down (shadow). */
bool hak_learner_acts(void);

#endif
