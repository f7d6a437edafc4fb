/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* edits.h: the edit distance of two words.
 *
 * what      The smallest number of single edits that turn one word into the other: insert, delete or change a letter,
 *           or swap two neighbours.
 *
 *               prize -> price: 1 (z changed)    rpiec -> price: 2 (rp and ec swapped)
 *
 * owner     Nothing; some hundred bytes of the caller's stack.
 * locks     None. Signal-safe.
 * hot path  No: a step for every pair of letters.
 * failure   Words of more than HAK_EDITS_LONGEST letters have the distance HAK_EDITS_MANY.
 * not here  The bound for a near word: the callers.
 */
#ifndef HAK_BASE_EDITS_H
#define HAK_BASE_EDITS_H

enum { HAK_EDITS_LONGEST = 63, HAK_EDITS_MANY = 255 };

unsigned hak_edits(const char *one, const char *other);

#endif
