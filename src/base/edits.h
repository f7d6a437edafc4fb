/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* edits.h: how far apart two words are.
 *
 * what      The fewest single edits that turn one word into the other: a letter put in, left out, changed, or swapped
 *           with its neighbour.
 *
 *               prize -> price: 1 (z changed)    hlepre -> helper: 2 (le and re swapped)
 *
 * owner     Nothing; some hundred bytes of the caller's stack.
 * locks     None. Signal-safe.
 * hot path  No: a step for every pair of letters.
 * failure   Words of more than HAK_EDITS_LONGEST letters are HAK_EDITS_MANY apart.
 * not here  Which distance is near: whoever asks.
 */
#ifndef HAK_BASE_EDITS_H
#define HAK_BASE_EDITS_H

enum { HAK_EDITS_LONGEST = 63, HAK_EDITS_MANY = 255 };

unsigned hak_edits(const char *one, const char *other);

#endif
