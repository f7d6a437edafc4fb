/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* learning.h: hooks of src/learn in the layers below.
 *
 * what      All that lower layers know of src/learn: functions that lower layers call while the mode asks for learning,
 *           and words that these functions publish. Each layer works without them.
 *
 *               blocks, runs, cache --g_learning--> src/learn --words--> blocks, runs, cache
 * owner     g_learning and g_kinds_known (in learning.c) are stored by src/learn; NULL and false at first, and in a
 *           library without learning. The words of a kind belong to the holder of the lock of the kind's level,
 *           g_big_passing to the holder of the lock of the big blocks.
 * orders    g_learning: stored with release; the functions are constants.
 * not here  The functions: src/learn. Choices for the whole process: snapshot.h; for magazines: cache/capacity.h.
 */
#ifndef HAK_TABLES_LEARNING_H
#define HAK_TABLES_LEARNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"

/* Kinds of memory that have a level (retain/watermark.h), whose height the learner follows. */
enum hak_kind_id { HAK_KIND_RUNS, HAK_KIND_SLABS, HAK_KINDS };

/* Published sums of a kind. */
struct hak_kind {
  uint64_t known;    /* free bytes that may stay by keep times of their own */
  uint64_t unproved; /* free bytes with an inherited keep time: as many may stay as are taken again */
  uint64_t in_use;   /* the level [bytes], rounded up to whole quanta */
};

/* What a look at free memory found when it began. */
struct hak_look {
  uint64_t begun_ns;
  uint64_t footprint; /* [bytes] likely resident */
  uint64_t empty;     /* [bytes] of pages in slabs without content, beside these */
};

struct hak_learning {
  /* Begins timing of a magazine found empty or full; `turns` if the last miss was of the opposite kind. Returns the
   * value for path_ends; 0: path_ends is not called. */
  uint64_t (*path_begins)(bool turns);
  /* Ends timing: the magazine of class c was refilled or flushed, at the depot or at the slabs `behind` the depot. */
  void (*path_ends)(unsigned c, bool flush, bool behind, uint64_t begun);

  /* Lock: g_big.lock held. big_taken: this site takes a block; returns its keep time (retain/rent.h). big_freed: a
   * block with this keep time is freed. big_cut: a fork's child took the lock over from a thread of its parent; forgets
   * which blocks wait. */
  unsigned (*big_taken)(unsigned site, size_t bytes, uint64_t now_ms);
  void (*big_freed)(unsigned site, unsigned keep, size_t bytes, uint64_t now_ms);
  void (*big_cut)(void);

  /* Lock: the lock of the kind's level held. kind_begins: starts learning of the kind, with no free quanta waiting.
   * kind_noted: the level is now `live` bytes high. */
  struct hak_kind *(*kind_begins)(enum hak_kind_id id);
  void (*kind_noted)(struct hak_kind *kind, uint64_t live, uint64_t break_even_ms, uint64_t now_ms);

  /* A look at free memory ends. One caller at a time. */
  void (*looked)(const struct hak_look *look);
};
extern HAK_HIDDEN const struct hak_learning *g_learning;

/* True once kinds learnt, or a policy had rows of theirs: in mode frozen their keep times count then. */
extern HAK_HIDDEN bool g_kinds_known;

/* Sizes above + 1 to above + sizes [bytes] have used their share of learning's time in this window. Takes and frees of
 * such big blocks skip the learner. */
struct hak_big_passing {
  uint64_t above, sizes; /* sizes 0: no size skips */
  uint64_t window_ms;    /* begin of the window */
  uint64_t passed;       /* blocks that skipped in this window */
};
extern HAK_HIDDEN struct hak_big_passing g_big_passing;

#endif
