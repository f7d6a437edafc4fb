/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tune_rows.h: what was learnt for the whole process, as rows of a policy.
 *
 * what      Of each decision the incumbent; of the threshold the ratings, of slack and place the pulls (rows.h):
 *
 *               arm threshold|slack|place   CODE TRIED                     code as in controller.h; windows tried
 *               rating                      RUNG RATING MATCHES RETIRED    elo.h; 1 << 8 is a point; since a retirement
 *               pulls slack|place           ARM PULLS COST DROPPED         ucb.h; 1 << 16 is a pull at the full range
 *
 *           Another process that ended meanwhile added to the counts that both began with: its matches, pulls and
 *           points are added to this process's, as far as the file has more than when this process read or wrote the
 *           file. Of two incumbents the one from more windows stays.
 * owner     g_file (in tune_rows.c): the counts that the file had then.
 * locks     The learner's claim is held.
 * failure   Counts beyond the maxima are cut.
 * not here  The controller: tune.h.
 */
#ifndef HAK_LEARN_TUNE_ROWS_H
#define HAK_LEARN_TUNE_ROWS_H

#include "learn/controller.h"
#include "learn/rows.h"

enum { HAK_TUNE_TRIED_MOST = 1 << 24, HAK_TUNE_RATING_MOST = 2 * HAK_ELO_START * HAK_ELO_POINT };
#define HAK_TUNE_COST_MOST ((uint64_t)HAK_TUNE_TRIED_MOST << 16)

bool hak_tune_arm_out(unsigned what, unsigned place, uint64_t *number);
bool hak_tune_arm_in(unsigned what, const uint64_t *number, enum hak_row_use use);
bool hak_tune_rating_out(unsigned what, unsigned rung, uint64_t *number);
bool hak_tune_rating_in(unsigned what, const uint64_t *number, enum hak_row_use use);
bool hak_tune_pulls_out(unsigned what, unsigned arm, uint64_t *number);
bool hak_tune_pulls_in(unsigned what, const uint64_t *number, enum hak_row_use use);

/* hak_tune_written: the file has the rows of this decision, as they are now. hak_tune_forget_file: another file. */
void hak_tune_written(unsigned what);
void hak_tune_forget_file(void);

#endif
