/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* watermark.h: how much free memory may stay.
 *
 * what      A kind of memory has a level: the bytes of it that are live. What is kept free serves what comes back, last
 *           in, first out: the k-th byte of it has been idle since the level last stood that high. So ski rental for
 *           each by itself (retain/rent.h) is one rule for all:
 *
 *                  resident  <=  the most that was live within the last T        T: the rent's time
 *
 *               bytes |    ____            most of the last T  _ _ _ _ _
 *                     |   /    \__    /\__________ live         ^ may stay free
 *                     |__/        \__/                          v
 *                     +------------------------|------ T ------| now
 *
 *           Memory is kept only by who takes it back: of what the level fell by, no more stays than was taken again
 *           within T, or a small constant. And sizes differ: a share of the most may stay besides, as it does not fit
 *           (slack), by no more than was fetched within T though as much was free.
 *
 *               may stay  =  min(most - live, max(least, reused))  +  min((most - 8 MiB) * slack, misfit)
 *
 *           A kind that learns (modes shadow and evolving, switch learn_kinds) has two sums besides
 *           (tables/learning.h): bytes whose keep time is known, and bytes that must prove themselves:
 *
 *               may stay  =  known  +  min(unproved, max(least, reused))  +  min((most - 8 MiB) * slack, misfit)
 * owner     A level belongs to its box.
 * locks     The box's.
 * orders    Under the lock.
 * failure   None. A clock that stands still makes T longer.
 * not here  T and the slack, which the price sets: retain/rent.h.
 */
#ifndef HAK_RETAIN_WATERMARK_H
#define HAK_RETAIN_WATERMARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "tables/learning.h"

enum { HAK_WATERMARK_PARTS = 8, HAK_WATERMARK_LEAST = 8 << 20 };

/* An eighth of T. */
struct hak_watermark_part {
  uint64_t most, reused, misfit;
};

/* The last T in parts, the youngest first. All zero: nothing was ever live. */
struct hak_watermark {
  uint64_t live;                   /* bytes, as last noted */
  uint64_t most, reused;          /* in the last T: bytes live at once; bytes taken while fewer were live than that */
  uint64_t misfit;                  /* and bytes fetched though as many were free */
  uint64_t part_ms;                /* T / HAK_WATERMARK_PARTS; 0: not set yet, as nothing was fetched */
  uint64_t since_ms;               /* when the youngest part began */
  struct hak_watermark_part part[HAK_WATERMARK_PARTS];
  struct hak_kind *learnt;         /* NULL: nothing now */
};

/* From here on the level is learnt of as one of this kind, or not at all. The same as before: nothing. */
void hak_watermark_learn_anew(struct hak_watermark *level, enum hak_kind_id id, bool learns);
static inline void hak_watermark_learn(struct hak_watermark *level, enum hak_kind_id id, bool learns) {
  if (HAK_UNLIKELY(learns != (level->learnt != NULL))) hak_watermark_learn_anew(level, id, learns);
}

/* Nothing is kept that the level counts, nor was lately. */
bool hak_watermark_is_flat(const struct hak_watermark *level);

/* Sets T. */
void hak_watermark_set_rent(struct hak_watermark *level, uint64_t rent_ms);

/* The level is `live` bytes from now on. */
void hak_watermark_note(struct hak_watermark *level, uint64_t live, uint64_t now_ms);

/* So many bytes were fetched though as many were free. */
void hak_watermark_note_misfit(struct hak_watermark *level, uint64_t bytes);

/* Bytes of free memory that may stay; `least` bytes need not be taken again, `slack` in percent of the most. */
uint64_t hak_watermark_keep_limit(const struct hak_watermark *level, uint64_t least, uint64_t slack);

#endif
