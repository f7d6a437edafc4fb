/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_keep.h: keep times of free big blocks, learnt by call site.
 *
 * what      Three functions of tables/learning.h. Learnt rows, read and restored. Logs of decisions and of inputs.
 * locks     hak_big_keep_taken, _freed and _cut: the lock of the big blocks is held. hak_big_learnt, _has_learnt and
 *           _restore take that lock. hak_big_write_*: no lock, before there are threads.
 * not here  The choice of an arm: keeper.h. Files: decisions.h, policy.h.
 */
#ifndef HAK_LEARN_BIG_KEEP_H
#define HAK_LEARN_BIG_KEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "learn/keeper.h"

/* The functions big_taken, big_freed and big_cut of struct hak_learning (tables/learning.h). */
unsigned hak_big_keep_taken(unsigned site, size_t bytes, uint64_t now_ms);
void hak_big_keep_freed(unsigned site, unsigned keep, size_t bytes, uint64_t now_ms);
void hak_big_keep_cut(void);

/* A learnt row (leader.h): of a site and bin; with address 0, of a bin; with bin HAK_ANY as well, of the process. */
struct hak_learnt {
  uint64_t address;
  uint32_t depth, bin;
  unsigned arm;
  struct hak_leader row;
};

/* hak_big_learnt: copies the rows of a site, or for site 0 of the process and the bins; returns the number of rows.
 * hak_big_restore: puts a row in place; restored rows are used in the modes frozen and evolving. */
unsigned hak_big_learnt(unsigned site, struct hak_learnt rows[HAK_LEADER_BINS + 1]);
void hak_big_restore(const struct hak_learnt *learnt);

/* Joins a row with the row of the same name, if that exists (hak_leader_join). */
void hak_big_join(const struct hak_learnt *learnt);

/* True if a row of this address (0: no site), depth and bin exists. */
bool hak_big_has_learnt(const struct hak_learnt *learnt);

/* Decisions go into this ring from now on. Call at start. */
void hak_big_write_decisions(struct hak_decisions *ring);
/* Inputs of the keeper go into this journal of `room` rows from now on, in the first process but not in a fork's child.
 * Call at start. */
void hak_big_write_journal(struct hak_journal *journal, uint64_t room);

#endif
