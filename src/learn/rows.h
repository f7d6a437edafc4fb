/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rows.h: rows of the learners in a policy.
 *
 * what      A row is a word and some numbers, the first of which names the row where a learner has more than one. A
 *           table has a line per kind of row: the word, the bounds of each number, and two functions of the learner's
 *           module:
 *
 *               file --policy_read.c--> numbers within bounds --in--> learner --out--> numbers --policy_write.c--> file
 *
 *           A kind counts where the learner's setting is on, in the modes shadow and evolving; and in mode frozen,
 *           where the learner acts by the rows without learning. A kind that does not count is neither taken nor
 *           written: the rows of the file stay.
 * owner     The learners' modules.
 * locks     The learner's claim (learn/learner.h) is held while a function of the table runs; hak_row_out and
 *           hak_row_in take the claim.
 * failure   The claim is not free for long: the row is neither taken nor written.
 * not here  The format, and which rows a file keeps: policy.h. The meaning of the numbers: the learners.
 */
#ifndef HAK_LEARN_ROWS_H
#define HAK_LEARN_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HAK_ROW_NUMBERS = 13 };

struct hak_row_bound {
  uint64_t least, most;
};

enum hak_row_use {
  HAK_ROW_HAS,  /* nothing changes */
  HAK_ROW_TAKE, /* the row replaces the learner's */
  HAK_ROW_JOIN  /* another process wrote the row meanwhile: joins the learner's row, if the learner has that row */
};

struct hak_row_kind {
  char word[16];
  uint16_t setting; /* of the learner: offset in struct hak_settings */
  uint8_t which;    /* tells kinds with the same functions apart */
  uint8_t places, numbers;
  const struct hak_row_bound *bound;
  /* out: the row at a place, 0 .. places - 1. False: nothing was learnt there. in: true if the learner has that row. */
  bool (*out)(unsigned which, unsigned place, uint64_t *number);
  bool (*in)(unsigned which, const uint64_t *number, enum hak_row_use use);
};

/* The n-th kind; NULL: no further kind. A kind's rows are written and read before those of later kinds. */
const struct hak_row_kind *hak_row_kind(unsigned n);

/* See struct hak_row_kind; false where the kind does not count. The numbers are within their bounds. */
bool hak_row_out(const struct hak_row_kind *kind, unsigned place, uint64_t *number);
bool hak_row_in(const struct hak_row_kind *kind, const uint64_t *number, enum hak_row_use use);

/* True if there is a row to write. */
bool hak_row_any(void);

#endif
