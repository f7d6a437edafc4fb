/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* keeper.h: a learner of keep times at work: told of blocks that are taken and freed, asked for their arms.
 *
 * what      Open waits (waits.h), what closed ones taught (leader.h), and a ring of what was decided:
 *
 *               freed --> a wait opens            taken --> the youngest of its bin closes --> noted --> arm chosen
 *                         those that outlast the longest arm close, two at a time --> noted
 *
 *           A decision is an arm that differs from the row's one before. Rows that were never told decide nothing: they
 *           inherit.
 * owner     The caller, who has one thread in here at a time. All zeros, and a ring, is a keeper that knows nothing.
 * orders    Who reads a ring beside it reads `count` before and after: the rows with
 *           count_after + 1 - HAK_DECISIONS  <  number  <=  count_before  are whole: one more may be half written.
 * failure   A ring of NULL: decisions are not written down. A journal of NULL: nor is what it was told.
 * not here  What is done to a block, the clock, the price, the budget: the caller.
 */
#ifndef HAK_LEARN_KEEPER_H
#define HAK_LEARN_KEEPER_H

#include "learn/journal.h"
#include "learn/waits.h"

enum { HAK_DECISIONS = 512 };

/* Fixed width and little-endian, as tools read it from a file. */
struct hak_decision {
  uint64_t number;       /* from 1 on */
  uint64_t when;         /* of the caller's clock */
  uint64_t label;        /* of the site, as the caller names it */
  uint64_t keep;         /* the arm's time, of the caller's clock; UINT64_MAX: for ever */
  uint32_t depth;        /* of the site's stack; 0: any */
  uint32_t waits;        /* that the row remembers */
  uint32_t paid, before; /* by the arm now and the one before, in fetches of 1 << 16: see hak_choice */
  uint8_t bin, to, from, zero[5];
};
static_assert(sizeof(struct hak_decision) == 56, "a row of the file is 56 bytes");

struct hak_decisions {
  char magic[8]; /* "HAKDEC01" */
  uint32_t rows, row_bytes;
  uint64_t count; /* decisions so far; the n-th is in row (n - 1) % rows */
  struct hak_decision row[HAK_DECISIONS];
};
static_assert(sizeof(struct hak_decisions) == 24 + HAK_DECISIONS * 56, "the file");

struct hak_keeper {
  struct hak_leaders leaders;
  struct hak_waits waits;
  struct hak_decisions *ring; /* may be a file's: it is written only */
  uint64_t decided;           /* decisions that are in it, or were */
  struct hak_journal_end journal;
};

/* Who asks, and when. `site` below HAK_LEADER_SITES or HAK_ANY; label and depth: of a decision. */
struct hak_asker {
  uint64_t now, break_even;
  uint64_t label;
  uint32_t site, bin, depth;
};

/* Waits that were noted: what was paid for them at their arms, and would have been at break-even: 1 << 16 is a page
 * fetched, and a block has the pages of the largest of its bin. */
struct hak_score {
  uint32_t waits;
  uint64_t paid, baseline;
};

/* A block is freed that was taken with this arm. */
void hak_keeper_freed(struct hak_keeper *keeper, const struct hak_asker *asker, unsigned arm, struct hak_score *score);

/* A block is taken: the arm for it; and where there is no time to learn, so that the wait it closes is forgotten. */
unsigned hak_keeper_taken(struct hak_keeper *keeper, const struct hak_asker *asker, struct hak_score *score);
void hak_keeper_taken_unnoted(struct hak_keeper *keeper, uint32_t bin);

/* The arm that a block would have now. Nothing is decided by that: the next block that is taken may decide it. */
unsigned hak_keeper_arm(struct hak_keeper *keeper, const struct hak_asker *asker);

/* Open waits may be torn, as their writer vanished: there are none. */
void hak_keeper_drop_waits(struct hak_keeper *keeper);

/* A row as it was when it was read: hak_leaders_restore. */
void hak_keeper_restore(struct hak_keeper *keeper, uint32_t site, uint32_t bin, unsigned arm,
                        const struct hak_leader *as);

/* Makes the ring's header. */
void hak_decisions_start(struct hak_decisions *ring);

/* The same, and what is decided from now on goes into this ring. */
void hak_keeper_write_into(struct hak_keeper *keeper, struct hak_decisions *ring);

#endif
