/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* learner.h: windows of slow doors, after which what was learnt for the whole process is decided anew.
 *
 * what      In the modes shadow and evolving every slow door counts itself here; when 256 have passed, a window ends,
 *           and each learner that is switched on is told what was counted in it:
 *
 *               slow door --> caretaker: due --> hak_learner_passed --256--> window --> tune, caches
 *                                                                              \-> tables/snapshot.h, magazines
 *
 *           Ending a window has its share of the time (base/time_budget.h): the next one ends at the earliest after 256
 *           times what one takes.
 * owner     g_learner (in learner.c); its window by whoever holds the claim.
 * locks     The claim: one at a time, others go on. The learners may take the boxes'.
 * orders    Relaxed; the claim is acquire and release.
 * hot path  No. In other modes a slow door has no instruction for it.
 * failure   What a fork left claimed is nobody's.
 * not here  What is learnt of big blocks by site: blocks/big_learn.c.
 */
#ifndef HAK_LEARN_LEARNER_H
#define HAK_LEARN_LEARNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A window: when it ended, how long it was, slow doors in it. */
struct hak_learner_window {
  uint64_t now_ns, elapsed_ns, slow_calls;
};

/* The mode or a switch may have changed. */
void hak_learner_heed(void);

/* A slow door for n bytes (0: for none) is passed. At its head, with no lock held. */
void hak_learner_passed(size_t n);

/* Does what is learnt count, or is it written down only (shadow)? */
bool hak_learner_acts(void);

#endif
