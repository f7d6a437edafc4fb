/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* time_budget.h: a share of the time.
 *
 * what      One note is timed in a window; in each window as many are made as fit the share:
 *
 *               notes of a window  <=  window / SHARE / time of one
 *
 * owner     The caller, who has one thread in here at a time. All zeros is before the first window.
 * failure   A clock that stood still, or an interruption: a note's time moves by a fourth of it, and at most twice as
 *           far as it was.
 * not here  What is done with a note for which there is no time: the caller.
 */
#ifndef HAK_BASE_TIME_BUDGET_H
#define HAK_BASE_TIME_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"

enum {
  HAK_BUDGET_WINDOW_MS = 256,
  HAK_BUDGET_SHARE = 256,     /* of a window: 0.4 percent */
  HAK_BUDGET_FIRST_NS = 1000, /* taken for a note until one is timed */
  HAK_BUDGET_LEAST_NS = 125,
  HAK_BUDGET_MS_NS = 1000000
};

struct hak_time_budget {
  uint64_t window_ms; /* began */
  uint64_t note_ns;   /* what a note takes; 0: not known yet */
  uint32_t left;      /* notes, in this window */
  bool timed;         /* one was timed in it */
};

static inline uint64_t hak_time_budget_note_ns(const struct hak_time_budget *budget) {
  return budget->note_ns != 0 ? budget->note_ns : (uint64_t)HAK_BUDGET_FIRST_NS;
}

static inline bool hak_time_budget_is_over(const struct hak_time_budget *budget, uint64_t now_ms) {
  return now_ms - budget->window_ms >= HAK_BUDGET_WINDOW_MS;
}

static inline void hak_time_budget_begin(struct hak_time_budget *budget, uint64_t now_ms) {
  uint64_t share_ns = (uint64_t)HAK_BUDGET_WINDOW_MS * HAK_BUDGET_MS_NS / HAK_BUDGET_SHARE;
  budget->left = (uint32_t)(share_ns / hak_time_budget_note_ns(budget));
  budget->window_ms = now_ms;
  budget->timed = false;
}

/* What one note took. */
static inline void hak_time_budget_time(struct hak_time_budget *budget, uint64_t took_ns) {
  uint64_t old = hak_time_budget_note_ns(budget);
  uint64_t sound = hak_max(hak_min(took_ns, 2 * old), (uint64_t)HAK_BUDGET_LEAST_NS);
  budget->timed = true;
  budget->note_ns = (3 * old + sound + 3) / 4;
}

#endif
