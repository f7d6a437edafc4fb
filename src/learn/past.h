/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* past.h: what earlier runs of a program say of the next one.
 *
 * what      A process that grows, frees and ends gives back memory just before its end; one that grows again fetches it
 *           again. Only the program's earlier runs know. Each run measures
 *
 *               paid    pages fetched again, and the time in looks at free memory, as     us
 *                       far as what these gave back was not fetched again
 *               kept    bytes given back and not fetched again x time outside looks       MiB x ms
 *               peak    the largest heap                                                  KiB
 *
 *           as means of the last runs, and
 *
 *               3/4 paid > price x kept, and paid at least 1 % of a run's time:
 *                                        the next run keeps its free memory, as at the price `speed`, for FOLLOWS times
 *                                        as long as a run lives and a minute at most, and of each kind of memory 5/4 of
 *                                        the peak at most. Beyond these the price rules, and what the next run measures
 *                                        counts alone: it may be of another script
 *               peak >= HAK_HUGE_LEAST   the next run takes huge pages from the start, at a lean price, too
 *                                        (retain/huge.h still times them)
 *
 *           Both sides are known after one run, so no arm is tried. A run that keeps knows neither side: each AGAIN-th
 *           run gives back, and is measured.
 * owner     g_past (in past.c).
 * locks     hak_past_looked and hak_past_add: the claim of reclaim/release.h. hak_past_begin: at start.
 * failure   A clock that stands still: nothing was paid, so nothing is kept. A process of one thread that calls nothing
 *           any more keeps what it kept, as no look comes after the time.
 * not here  The file: policy.h.
 */
#ifndef HAK_LEARN_PAST_H
#define HAK_LEARN_PAST_H

#include <stdbool.h>
#include <stdint.h>

#include "tables/learning.h"

/* Means of the last runs; runs 0: none. */
struct hak_past {
  uint32_t runs;
  uint32_t life_ms;     /* from start to exit */
  uint32_t peak_kib;    /* most bytes in runs and big blocks */
  uint32_t paid_us;
  uint32_t kept_mib_ms;
};

/* Begins a run. acts: the run does as `before` says. always: no run is for measuring. */
void hak_past_begin(const struct hak_past *before, bool acts, bool always);

/* Call after a change of the mode: only evolving and frozen do as earlier runs say. */
void hak_past_heed(void);

/* The function `looked` of struct hak_learning (tables/learning.h). */
void hak_past_looked(const struct hak_look *look);

/* True if this run's heap is large enough for any of it to matter. */
bool hak_past_counts(void);

/* Adds this run, which ends now, to the row. Call if hak_past_counts(). */
void hak_past_add(struct hak_past *row);

#endif
