/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* keeper.h: learns keep times from blocks taken and freed, and chooses an arm for each block taken.
 *
 * what      Open waits (waits.h), rows learnt from closed waits (leader.h), and a ring of decisions:
 *
 *               freed --> a wait opens      taken --> the youngest wait of the bin closes --> noted --> arm chosen
 *                         waits that outlast the longest arm close, two per call --> noted
 *
 *           A decision is an arm that differs from the row's arm before. A row without notes inherits, and decides
 *           nothing.
 * owner     The caller, which serializes all calls. All zeros, and a ring: nothing learnt.
 * orders    A concurrent reader of a ring reads `count` before and after the rows: rows with
 *           count_after + 1 - HAK_DECISIONS  <  number  <=  count_before  are whole; a further row may be half written.
 * failure   A ring of NULL: decisions are not written down. A journal file of NULL: inputs are not written down.
 * not here  The effect on a block, the clock, the price, the time budget: the caller.
 */
#ifndef HAK_LEARN_KEEPER_H
#define HAK_LEARN_KEEPER_H

#include "learn/journal.h"
#include "learn/waits.h"

enum { HAK_DECISIONS = 512 };

/* Fixed width and little-endian: tools read rows from a file. */
struct hak_decision {
  uint64_t number;       /* from 1 */
  uint64_t when;         /* [the caller's clock] */
  uint64_t label;        /* the caller's name for the site */
  uint64_t keep;         /* [the caller's clock] keep time of the arm; UINT64_MAX: for ever */
  uint32_t depth;        /* of the site's stack; 0: any */
  uint32_t waits;        /* remembered by the row */
  uint32_t paid, before; /* by `to` and by `from`, in fetches of 1 << 16: see hak_choice */
  uint8_t bin, to, from, zero[5];
};
static_assert(sizeof(struct hak_decision) == 56, "a row of the file is 56 bytes");

struct hak_decisions {
  char magic[8]; /* "HAKDEC01" */
  uint32_t rows, row_bytes;
  uint64_t count; /* decisions so far; decision n is in row (n - 1) % rows */
  struct hak_decision row[HAK_DECISIONS];
};
static_assert(sizeof(struct hak_decisions) == 24 + HAK_DECISIONS * 56, "the file");

struct hak_keeper {
  struct hak_leaders leaders;
  struct hak_waits waits;
  struct hak_decisions *ring; /* may be a file's memory: written, never read */
  uint64_t decided;           /* decisions written so far */
  struct hak_journal_end journal;
};

/* A question for an arm: time, site and bin. `site` is below HAK_LEADER_SITES or HAK_ANY; label and depth are copied
 * into decisions. */
struct hak_asker {
  uint64_t now, break_even;
  uint64_t label;
  uint32_t site, bin, depth;
};

/* Closed waits: the sums paid at the arms chosen, and at break-even. 1 << 16 is a page fetched; a block counts with the
 * pages of the largest block of the bin. */
struct hak_score {
  uint32_t waits;
  uint64_t paid, baseline;
};

/* A block that was taken with `arm` is freed. */
void hak_keeper_freed(struct hak_keeper *keeper, const struct hak_asker *asker, unsigned arm, struct hak_score *score);

/* hak_keeper_taken: a block is taken; returns the block's arm. hak_keeper_taken_unnoted: a block is taken while there
 * is no time to learn; the wait that the block closes is forgotten. */
unsigned hak_keeper_taken(struct hak_keeper *keeper, const struct hak_asker *asker, struct hak_score *score);
void hak_keeper_taken_unnoted(struct hak_keeper *keeper, uint32_t bin);

/* The arm that a block would have now. Decides nothing; the next block taken may decide. */
unsigned hak_keeper_arm(struct hak_keeper *keeper, const struct hak_asker *asker);

/* Drops all open waits, which may be torn after a fork in the middle of an update. */
void hak_keeper_drop_waits(struct hak_keeper *keeper);

/* Restores a row: see hak_leaders_restore. */
void hak_keeper_restore(struct hak_keeper *keeper, uint32_t site, uint32_t bin, unsigned arm,
                        const struct hak_leader *as);

/* Writes the ring's header. */
void hak_decisions_start(struct hak_decisions *ring);

/* Writes the ring's header, and all further decisions into the ring. */
void hak_keeper_write_into(struct hak_keeper *keeper, struct hak_decisions *ring);

#endif
