/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* edits.c: the edit distance of two words.
 *
 * what      A row of distances per letter of the first word: row i, column j is the distance from the first i letters
 *           of the first word to the first j letters of the second. A swap reaches back two rows, so three rows are
 *           kept.
 *
 *                    p r i c e
 *                  0 1 2 3 4 5
 *               p  1 0 1 2 3 4
 *               r  2 1 0 1 2 3    each cell from the cells above, to the left, and above left
 *
 * owner     The caller's stack.
 * locks     None. Signal-safe.
 */
#include "base/edits.h"

#include <stdbool.h>

#include "base/bits.h"
#include "base/str.h"

struct rows {
  unsigned char row[3][HAK_EDITS_LONGEST + 1];
};

static unsigned char *row_of(struct rows *rows, size_t letter) { return rows->row[letter % 3]; }

/* Distance from the first i letters of `one` to the first j letters of `other`; i, j > 0. Needs all earlier cells. */
static unsigned fewest(struct rows *rows, const char *one, size_t i, const char *other, size_t j) {
  const unsigned char *above = row_of(rows, i - 1);
  size_t changed = above[j - 1] + (one[i - 1] != other[j - 1] ? 1u : 0u);
  unsigned edits = (unsigned)hak_min(changed, hak_min(above[j], row_of(rows, i)[j - 1]) + 1u);
  bool swapped = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
  return swapped ? (unsigned)hak_min(edits, row_of(rows, i - 2)[j - 2] + 1u) : edits;
}

unsigned hak_edits(const char *one, const char *other) {
  size_t height = hak_strlen(one), width = hak_strlen(other);
  if (height > HAK_EDITS_LONGEST || width > HAK_EDITS_LONGEST) return HAK_EDITS_MANY;
  struct rows rows;
  for (size_t j = 0; j <= width; j++) row_of(&rows, 0)[j] = (unsigned char)j;
  for (size_t i = 1; i <= height; i++) {
    row_of(&rows, i)[0] = (unsigned char)i;
    for (size_t j = 1; j <= width; j++) row_of(&rows, i)[j] = (unsigned char)fewest(&rows, one, i, other, j);
  }
  return row_of(&rows, height)[width];
}
