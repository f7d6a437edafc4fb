/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* controller.h: decisions for the whole process, learnt from windows of slow calls.
 *
 * what      Input: the counters at a window's end, and the costs of a kernel call, a page and idle memory. Output: the
 *           arms of the next window. Of the three decisions at most a single decision tries arms at a time; the rest
 *           hold their incumbents. Modelled cost of a window [ns per slow call]:
 *
 *               cost = (calls x call_ns + pages x page_ns + moved x move_ns + kept free x time x price) / slow calls
 *
 *               measure --8 windows--> try, in turns --settled--> candidate: a window of 40 --promoted---> frozen
 *                  ^                     elo, ucb                     \-------- rolled back ---------------^  |
 *                  +-------------------------------- alarm (lifecycle.h) -------------------------------------+
 *
 *           The first window after a change of arms is not counted: memory has to settle. An arm that costs twice the
 *           usual in that window and in the next is dropped at once. A decision that played no part in a window (asked
 *           is 0) tries nothing in the next.
 *
 *           An arm is a code as in tables/snapshot.h; 0: as the settings say; n + 1: arm n:
 *
 *               threshold   hak_arm_threshold(n); 1 MiB is code 0
 *               slack       hak_arm_slack(n + 1) percent
 *               place       { off }
 * owner     The caller, which serializes all calls. All zeros, with a ring or NULL: nothing learnt.
 * orders    The ring: as in keeper.h.
 * failure   A window whose sums fell, or grew by more than 2^40, is not judged.
 * not here  The counting, and the effect of an arm: learn/tune.h. The worth of the constants: lab/docs/learners.md.
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
enum hak_tuned { HAK_TUNED_THRESHOLD, HAK_TUNED_SLACK, HAK_TUNED_PLACE, HAK_TUNED };

/* Fixed width and little-endian: tools read rows from a file. slow_calls to rent: sums since the process began. */
struct hak_window {
  uint64_t now_ns;
  uint64_t slow_calls, calls, pages, moved; /* calls: of the kernel; pages: fetched */
  uint64_t rent;                            /* [KiB x us] kept free */
  uint64_t price, call_ns, page_ns, move_ns;
  uint64_t asked[HAK_TUNED]; /* how much this window depended on each decision; 0: not at all */
  uint64_t tries;            /* bit: this decision may be tried; else as the settings say */
  uint64_t zero[2];
};
static_assert(sizeof(struct hak_window) == 128, "a row of the file is 128 bytes");

enum hak_change_kind {
  HAK_CHANGE_DROPPED,     /* the arm cost too much */
  HAK_CHANGE_CANDIDATE,   /* an arm looks better and will be tested */
  HAK_CHANGE_PROMOTED,    /* the candidate became the incumbent */
  HAK_CHANGE_ROLLED_BACK, /* the candidate lost, the incumbent stays */
  HAK_CHANGE_FROZEN,      /* no further arm is tried */
  HAK_CHANGE_ALARM,       /* the load changed: learning restarts; `what` is HAK_TUNED */
  HAK_CHANGES
};

/* A row of the ring. cost: of the arm `to`; before: of the incumbents [ns per slow call]. */
struct hak_change {
  uint64_t number; /* from 1 */
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
  uint64_t count; /* so far; change n is in row (n - 1) % rows */
  struct hak_change row[HAK_CHANGE_ROWS];
};
static_assert(sizeof(struct hak_changes) == 24 + HAK_CHANGE_ROWS * 40, "the file");

struct hak_controller {
  struct hak_window last;
  struct hak_changes *ring;      /* may be a file's memory: written, never read */
  uint64_t changes;              /* written so far */
  uint64_t windows;              /* noted so far */
  uint64_t told[HAK_CHANGES];    /* changes, by kind */
  uint64_t usual, held;          /* cost of the incumbents' windows: mean, last */
  uint64_t settled_at;           /* cost of the last uncounted window after a change of arms */
  struct hak_life life;
  struct hak_elo elo;
  struct hak_ucb ucb[HAK_TUNED]; /* unused for the threshold */
  uint32_t tried[HAK_TUNED];     /* windows noted to elo or ucb */
  uint32_t measured;             /* windows of incumbents since learning began, at most 16 */
  uint8_t arm[HAK_TUNED];        /* incumbents */
  uint8_t now[HAK_TUNED];        /* in the current window */
  uint8_t settled, frozen;       /* bit: decision */
  uint8_t turn, left;            /* the decision that tries now; windows left of its turn */
  uint8_t candidate, of;         /* an arm and its decision, while `waits` */
  bool waits, tests;             /* waits: a candidate exists; tests: this window tests the candidate */
  /* settling: an uncounted window after a change of arms; changed: the first counted window after a change */
  bool settling, changed;
};

/* A window ended. Returns the arms of the next window, a byte per decision as in tables/snapshot.h. */
uint32_t hak_controller_window(struct hak_controller *controller, const struct hak_window *window);

/* Keeps the incumbents and forgets the rest, as a fork may have cut an update in the middle. */
void hak_controller_begin(struct hak_controller *controller, struct hak_changes *ring);

/* Rows of a policy, put in place. hak_controller_restore: the incumbent of a decision. hak_controller_restore_pulls:
 * see hak_ucb_restore. */
void hak_controller_restore(struct hak_controller *controller, unsigned what, unsigned arm);
void hak_controller_restore_pulls(struct hak_controller *controller, unsigned what, uint32_t arm, uint64_t pulls,
                                  uint64_t cost, bool dropped);

/* [ns] The same of all slow calls. Sums that fell count as very large. */
uint64_t hak_window_paid(const struct hak_window *then, const struct hak_window *now);

/* The cost of the windows from `then` to `now` [ns per slow call]. False: unknown. */
bool hak_window_cost(const struct hak_window *then, const struct hak_window *now, uint64_t *cost);

/* Writes the ring's header. */
void hak_changes_start(struct hak_changes *ring);

#endif
