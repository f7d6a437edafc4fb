/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_keep.h: for how long a site's big blocks stay when they are free.
 *
 * what      Three functions of tables/learning.h, and what was learnt as rows: read, put back, and written down.
 * locks     hak_big_keep_* are called under the lock of the big blocks; the others take it.
 * not here  Which arm: keeper.h. Files: decisions.h, policy.h.
 */
#ifndef HAK_LEARN_BIG_KEEP_H
#define HAK_LEARN_BIG_KEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "learn/keeper.h"

/* As tables/learning.h says. */
unsigned hak_big_keep_taken(unsigned site, size_t bytes, uint64_t now_ms);
void hak_big_keep_freed(unsigned site, unsigned keep, size_t bytes, uint64_t now_ms);
void hak_big_keep_cut(void);

/* What was learnt: a row of leader.h, of a site, of a bin (address 0), or of the process (bin HAK_ANY). */
struct hak_learnt {
  uint64_t address;
  uint32_t depth, bin;
  unsigned arm;
  struct hak_leader row;
};

/* The rows of a site, or with 0 the process's and those of bins; how many. And puts a row in its place, which is read
 * in the modes frozen and evolving. */
unsigned hak_big_learnt(unsigned site, struct hak_learnt rows[HAK_LEADER_BINS + 1]);
void hak_big_restore(const struct hak_learnt *learnt);

/* Is there a row of this address (0: of none), depth and bin? */
bool hak_big_has_learnt(const struct hak_learnt *learnt);

/* What is learnt is written into this ring from now on. At start. */
void hak_big_write_decisions(struct hak_decisions *ring);
/* And what it is learnt from into this journal, by the first process; not by a fork's child. At start. */
void hak_big_write_journal(struct hak_journal *journal, uint64_t room);

#endif
