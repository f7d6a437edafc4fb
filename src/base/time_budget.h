/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* time_budget.h: a bound on the share of time that is spent on notes (records of a decision or a state).
 *
 * what      A note is timed once per window; the time of a note bounds the number of notes in a window:
 *
 *               notes per window  <=  window / SHARE / time of a note
 *
 * owner     The caller, with one thread at a time in here. All zeros: before the first window.
 * failure   A stopped clock or an interruption: the time of a note moves by a quarter of the difference to the new
 *           sample, and a sample counts as at most twice the old time.
 * not here  The treatment of a note without time left: the caller.
 */
#ifndef HAK_BASE_TIME_BUDGET_H
#define HAK_BASE_TIME_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"

enum {
  HAK_BUDGET_WINDOW_MS = 256,
  HAK_BUDGET_SHARE = 256,     /* 1/256 of a window: 0.4 percent */
  HAK_BUDGET_FIRST_NS = 1000, /* assumed until a note is timed */
  HAK_BUDGET_LEAST_NS = 125,
  HAK_BUDGET_MS_NS = 1000000
};

struct hak_time_budget {
  uint64_t window_ms; /* start of the window [ms] */
  uint64_t note_ns;   /* time of a note [ns]; 0: not known yet */
  uint32_t left;      /* notes left in this window */
  bool timed;         /* a note was timed in this window */
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

/* Includes the measured time of a note [ns]. */
static inline void hak_time_budget_time(struct hak_time_budget *budget, uint64_t took_ns) {
  uint64_t old = hak_time_budget_note_ns(budget);
  uint64_t sound = hak_max(hak_min(took_ns, 2 * old), (uint64_t)HAK_BUDGET_LEAST_NS);
  budget->timed = true;
  budget->note_ns = (3 * old + sound + 3) / 4;
}

#endif
