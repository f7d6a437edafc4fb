/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tune.h: windows in, arms for the whole process out.
 *
 * what      At each window's end (learn/learner.h) the counters and the costs become a record (struct hak_window), the
 *           controller chooses the arms of the next window, and the arms are published in a single word:
 *
 *               counters, footprint, costs --> record --> learn/controller.h --> arms --> tables/snapshot.h --> readers
 *                                                 \-> the log, if there is one    \-> changes, in a ring
 *
 *           In shadow nothing is published. In mode frozen the incumbents are, as read from a policy or learnt before.
 *           In further modes that do not learn all is as the settings say.
 *
 *               file <learn_log>.<pid>.windows:  | "HAKWIN02" | row bytes u32 | 0 u32 | count u64 | zeros | rows ...
 *                                                  0            8               12      16                  128
 * owner     g_tune (in tune.c): the holder of the learner's claim.
 * failure   A fork's child keeps the incumbents, forgets the rest, and writes no file. A full log ends. Rows of a
 *           policy are not in the log: from the log all is decided anew as without them.
 * not here  The choice of arms: learn/controller.h. The effect: tables/threshold.h, retain/rent.c, runs/region.c,
 *           tables/site.c.
 */
#ifndef HAK_LEARN_TUNE_H
#define HAK_LEARN_TUNE_H

#include "learn/controller.h"
#include "learn/learner.h"

/* Notes a window that ended. Lock: the learner's claim held. */
void hak_tune_window(const struct hak_learner_window *window);

/* After a change of mode or setting. hak_tune_go_on: learning goes on, and arms of decisions that are not learnt end.
 * hak_tune_stop: learning ends: all is as the settings say, or in mode frozen as the incumbents. */
void hak_tune_go_on(void);
void hak_tune_stop(void);

/* For the rows of a policy (tune_rows.h); lock: the learner's claim held. hak_tune_controller: what was learnt in this
 * process; `begins`: as rows will be put in place. hak_tune_may: bit: this decision may be learnt, or used in mode
 * frozen. hak_tune_publish: publishes the incumbents, if decisions take effect. */
struct hak_controller *hak_tune_controller(bool begins);
uint64_t hak_tune_may(void);
void hak_tune_publish(void);

/* Call at start. hak_tune_write_changes: changes go into this ring from now on. hak_tune_log_to_file: windows are
 * appended to the file <path>.<pid>.windows. */
void hak_tune_write_changes(struct hak_changes *ring);
void hak_tune_log_to_file(const char *path);

#endif
