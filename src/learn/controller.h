/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* controller.h: what is learnt for the whole process, from windows of slow doors.
 *
 * what      Told what was counted until a window's end, and what a kernel call, a page and idle memory cost then, it
 *           says which arms hold in the next window. Of four decisions one at a time tries others; the rest hold their
 *           incumbents. What a window cost is modelled, for each of its slow doors:
 *
 *               cost = (calls x call_ns + pages x page_ns + moved x move_ns + kept free x time x price) / doors
 *
 *               measure --8 windows--> try, in turns --settled--> candidate: a window of 40 --promoted---> frozen
 *                  ^                     elo, ucb                     \-------- rolled back ---------------^  |
 *                  +-------------------------------- alarm (lifecycle.h) -------------------------------------+
 *
 *           The first window after arms changed is the change's own and counts for none: memory has to settle. An arm
 *           that costs twice what is usual in that window and in the next is dropped at once. What had nothing to do
 *           with a window (asked is 0) is not tried in the next.
 *
 *           An arm is a code as in tables/snapshot.h: 0 is as the settings say, n + 1 is arm n:
 *
 *               threshold   hak_arm_threshold(n); 1 MiB is code 0      huge    { off }
 *               slack       hak_arm_slack(n + 1) percent        place   { off }
 * owner     The caller, who has one thread in here at a time. All zeros, and a ring or none, knows nothing.
 * orders    Of the ring as in keeper.h.
 * failure   A window whose sums went back, or by more than 2^40, is not judged.
 * not here  Who counts, and what an arm does: learn/tune.h. What the constants are worth: lab/docs/learners.md.
 */
#ifndef HAK_LEARN_CONTROLLER_H
#define HAK_LEARN_CONTROLLER_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "learn/elo.h"
#include "learn/lifecycle.h"
#include "learn/ucb.h"

/* In the order of enum hak_decided. */
enum hak_tuned { HAK_TUNED_THRESHOLD, HAK_TUNED_SLACK, HAK_TUNED_HUGE, HAK_TUNED_PLACE, HAK_TUNED };

/* Fixed width and little-endian, as tools read it from a file. Doors to rent are sums since the process began. */
struct hak_window {
  uint64_t now_ns;
  uint64_t slow_calls, calls, pages, moved; /* slow doors, kernel calls, pages fetched, pages moved */
  uint64_t rent;                       /* KiB kept free x us */
  uint64_t price, call_ns, page_ns, move_ns;
  uint64_t asked[HAK_TUNED]; /* how much of this window had to do with each decision; 0: nothing */
  uint64_t tries;            /* bit: this decision may be tried; else it is as the settings say */
  uint64_t zero;
};
static_assert(sizeof(struct hak_window) == 128, "a row of the file is 128 bytes");

enum hak_change_kind {
  HAK_CHANGE_DROPPED,     /* an arm that cost too much */
  HAK_CHANGE_CANDIDATE,   /* an arm is better, as far as it was tried */
  HAK_CHANGE_PROMOTED,    /* and is the incumbent now */
  HAK_CHANGE_ROLLED_BACK, /* or not */
  HAK_CHANGE_FROZEN,      /* no other arm is tried */
  HAK_CHANGE_ALARM,       /* the load is another one: all is learnt anew. `what` is HAK_TUNED */
  HAK_CHANGES
};

/* A row of the ring. Costs in ns a slow door: of the arm `to`, and of the incumbents. */
struct hak_change {
  uint64_t number; /* from 1 on */
  uint64_t when, window;
  uint32_t cost, before;
  uint8_t what, kind, from, to; /* hak_tuned, hak_change_kind, arms */
  uint32_t zero;
};
static_assert(sizeof(struct hak_change) == 40, "a row of the file is 40 bytes");

enum { HAK_CHANGE_ROWS = 512 };
struct hak_changes {
  char magic[8]; /* "HAKCHG01" */
  uint32_t rows, row_bytes;
  uint64_t count; /* so far; the n-th is in row (n - 1) % rows */
  struct hak_change row[HAK_CHANGE_ROWS];
};
static_assert(sizeof(struct hak_changes) == 24 + HAK_CHANGE_ROWS * 40, "the file");

struct hak_controller {
  struct hak_window last;
  struct hak_changes *ring;      /* may be a file's: it is written only */
  uint64_t changes;              /* that are in it, or were */
  uint64_t windows;              /* so far */
  uint64_t told[HAK_CHANGES];    /* changes, by kind */
  uint64_t usual, held;          /* what windows of incumbents cost, a mean; the last */
  uint64_t settled_at;           /* and the last that was a change's own */
  struct hak_life life;
  struct hak_elo elo;
  struct hak_ucb ucb[HAK_TUNED]; /* not of the threshold */
  uint32_t tried[HAK_TUNED];     /* windows that were told to the learner */
  uint32_t measured;             /* windows of incumbents since all was learnt anew */
  uint8_t arm[HAK_TUNED];        /* the incumbents */
  uint8_t now[HAK_TUNED];        /* in the window under way */
  uint8_t settled, frozen;       /* bit: decision */
  uint8_t turn, left;            /* whose, and windows of it */
  uint8_t candidate, of;         /* an arm, and of which decision, as long as `waits` */
  bool waits, tests;             /* tests: this window is the candidate's */
  bool settling, changed;        /* this window is a change's own; the arms are others than before */
};

/* A window ended: the arms for the next, a byte for each decision, as in tables/snapshot.h. */
uint32_t hak_controller_window(struct hak_controller *controller, const struct hak_window *window);

/* Incumbents stay, and all else is forgotten: the caller may have been cut in the middle. */
void hak_controller_begin(struct hak_controller *controller, struct hak_changes *ring);

/* What the windows from `then` to `now` cost, in ns a slow door. False: it cannot be told. */
bool hak_window_cost(const struct hak_window *then, const struct hak_window *now, uint64_t *cost);

/* Makes the ring's header. */
void hak_changes_start(struct hak_changes *ring);

#endif
