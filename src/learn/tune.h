/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tune.h: what is learnt for the whole process: told what was counted, and its arms published.
 *
 * what      At each window's end (learn/learner.h) the counters and the prices become a record (struct hak_window), the
 *           controller says which arms hold in the next, and they are published in one word:
 *
 *               counters, footprint, costs --> record --> learn/controller.h --> arms --> tables/snapshot.h --> readers
 *                                                 \-> the log, if there is one    \-> changes, in a ring
 *
 *           In shadow nothing is published. With another mode all is as the settings say.
 *
 *               file <learn_log>.<pid>.windows:  | "HAKWIN01" | row bytes u32 | 0 u32 | count u64 | zeros | rows ...
 *                                                  0            8               12      16                  128
 * owner     g_tune (in tune.c), by whoever holds the learner's claim.
 * failure   A fork's child keeps the incumbents, forgets the rest, and writes into no file. A log that is full ends.
 * not here  Which arms: learn/controller.h. What they do: tables/threshold.h, retain/rent.c, runs/region.c,
 *           tables/site.c.
 */
#ifndef HAK_LEARN_TUNE_H
#define HAK_LEARN_TUNE_H

#include "learn/learner.h"
#include "learn/controller.h"

/* A window ended. The claim is held. */
void hak_tune_window(const struct hak_learner_window *window);

/* What is learnt does not count any more. */
void hak_tune_stop(void);

/* At start: changes are written into this ring from now on; windows are appended to the file <path>.<pid>.windows. */
void hak_tune_write_changes(struct hak_changes *ring);
void hak_tune_log_to_file(const char *path);

#endif
