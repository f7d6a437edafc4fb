/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* learning.h: the seat of the guest.
 *
 * what      All that lower layers know of src/learn: functions that they call while the mode asks for it, and words
 *           that these publish. Each layer works without them.
 *
 *               blocks, runs, cache --g_learning--> src/learn --words--> blocks, runs, cache
 * owner     g_learning (in learning.c); src/learn stores it, NULL at first and where nothing is learnt. The words of a
 *           kind by the holder of its level's lock; g_big_passing under the lock of the big blocks.
 * orders    g_learning: stored with release; the functions are constants.
 * not here  What they do: src/learn. What was learnt for the whole process: snapshot.h; of magazines: cache/capacity.h.
 */
#ifndef HAK_TABLES_LEARNING_H
#define HAK_TABLES_LEARNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"

/* Kinds of memory that have a level (retain/watermark.h) and learn by its height. */
enum hak_kind_id { HAK_KIND_RUNS, HAK_KIND_SLABS, HAK_KINDS };

/* What is learnt of a kind, in bytes. */
struct hak_kind {
  uint64_t known;    /* free ones that may stay, by keep times of their own */
  uint64_t unproved; /* free ones whose keep time is inherited: as many may stay as are taken again */
  uint64_t in_use;   /* the level, rounded up to whole quanta */
};

struct hak_learning {
  /* A magazine was found empty or full. `turns`: the last time it was the other way. Not 0: what path_ends is given. */
  uint64_t (*path_begins)(bool turns);
  /* It was filled or emptied, at the depot or `behind` it. */
  void (*path_ends)(unsigned c, bool flush, bool behind, uint64_t begun);

  /* Under the lock of the big blocks. A block of this site is taken: its keep time (retain/rent.h). A block that was
   * taken with this keep time is freed. A fork while another thread was inside: which blocks wait is not known. */
  unsigned (*big_taken)(unsigned site, size_t bytes, uint64_t now_ms);
  void (*big_freed)(unsigned site, unsigned keep, size_t bytes, uint64_t now_ms);
  void (*big_cut)(void);

  /* Under the lock of the kind's level. It is learnt of from here on, and nothing waits. And: the level is so high. */
  struct hak_kind *(*kind_begins)(enum hak_kind_id id);
  void (*kind_noted)(struct hak_kind *kind, uint64_t live, uint64_t break_even_ms, uint64_t now_ms);
};
extern HAK_HIDDEN const struct hak_learning *g_learning;

/* Big blocks of `above` and up to `sizes` bytes more had their share of this window: they are not told of. */
struct hak_big_passing {
  uint64_t above, sizes; /* no sizes: none pass */
  uint64_t window_ms;    /* began */
  uint64_t passed;       /* blocks, in this window */
};
extern HAK_HIDDEN struct hak_big_passing g_big_passing;

#endif
