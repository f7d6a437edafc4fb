/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* learning.h: the seat of the guest.
 *
 * what      Functions of src/learn that lower layers call while the mode asks for it. Each layer works without them.
 * owner     g_learning (in learning.c); src/learn stores it, NULL at first and where nothing is learnt.
 * orders    Relaxed: the functions are constants.
 * not here  What they do: src/learn. What was learnt for the whole process: snapshot.h.
 */
#ifndef HAK_TABLES_LEARNING_H
#define HAK_TABLES_LEARNING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"

struct hak_learning {
  /* A magazine was found empty or full. `turns`: the last time it was the other way. Not 0: what path_ends is given. */
  uint64_t (*path_begins)(bool turns);
  /* It was filled or emptied, at the depot or `behind` it. */
  void (*path_ends)(unsigned c, bool flush, bool behind, uint64_t begun);
};
extern HAK_HIDDEN const struct hak_learning *g_learning;

#endif
