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
 * owner     The learners' modules. g_rows (in rows.c), under the policy's lock: the kinds that count, and the rows
 *           written, from hak_rows_begin to hak_rows_end.
 * locks     The learner's claim (learn/learner.h) is held from hak_rows_begin to hak_rows_end.
 * failure   The claim, or that of releases, is not free for long: no kind counts, until hak_rows_end.
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
  HAK_ROW_HAS,  /* nothing changes: is the file's row replaced? */
  HAK_ROW_TAKE, /* the row replaces the learner's */
  HAK_ROW_JOIN  /* another process wrote the row meanwhile: joins the learner's row, if the learner has that row */
};

struct hak_row_kind {
  char word[16];
  uint16_t setting; /* of the learner: offset in struct hak_settings */
  uint8_t which;    /* tells kinds with the same functions apart */
  uint8_t places, numbers;
  const struct hak_row_bound *bound;
  /* out: the row at a place, 0 .. places - 1. False: nothing was learnt there. in: true if such a row of the file is of
   * no use any more, though no row of that name was written. */
  bool (*out)(unsigned which, unsigned place, uint64_t *number);
  bool (*in)(unsigned which, const uint64_t *number, enum hak_row_use use);
};

/* The n-th kind; NULL: no further kind. A kind's rows are written and read before those of later kinds. */
const struct hak_row_kind *hak_row_kind(unsigned n);

/* Call before and after the functions below, once for a whole read or write. hak_rows_counting: bit: kind that counts
 * meanwhile. */
void hak_rows_begin(void);
void hak_rows_end(void);
uint32_t hak_rows_counting(void);

/* hak_row_out: see struct hak_row_kind; the row counts as written. hak_row_in: true if the row of the file is not to
 * stay: a row of that name was written since hak_rows_begin, or see struct hak_row_kind. False where the kind does not
 * count. The numbers are within their bounds. */
bool hak_row_out(const struct hak_row_kind *kind, unsigned place, uint64_t *number);
bool hak_row_in(const struct hak_row_kind *kind, const uint64_t *number, enum hak_row_use use);

/* The file that the policy goes on from has the rows written since hak_rows_begin. */
void hak_rows_are_in_file(void);

/* True if there is a row to write. */
bool hak_row_any(void);

#endif
