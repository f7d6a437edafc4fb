/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* watermark.h: how much free memory may stay.
 *
 * what      A kind of memory has live bytes. Free memory of the kind serves requests last in, first out: the k-th byte
 *           has been idle since the live bytes were last as high as k. So ski rental for each byte (retain/rent.h) is a
 *           single rule for all:
 *
 *                  resident  <=  the most live bytes within the last T        T: the rent's time
 *
 *               bytes |    ____            most of the last T  _ _ _ _ _
 *                     |   /    \__    /\__________ live         ^ may stay free
 *                     |__/        \__/                          v
 *                     +------------------------|------ T ------| now
 *
 *           Only reused memory stays: of the bytes by which `live` fell, no more stay than were reused within T, or a
 *           small constant. Sizes differ, so a share of the most (the slack) may stay besides, as free memory may not
 *           fit, but no more than was fetched within T while as many bytes were free (the misfit).
 *
 *               may stay  =  min(most - live, max(least, reused))  +  min(max(most, 12 MiB) * slack, misfit)
 *
 *           Where no other thread may release (retain/rent.h), the sum of reused bytes proves no more than a bound: a
 *           program that replaces small parts of much memory reuses many bytes, but the bytes that then fall together
 *           were never taken again together. Above the bound, steps of levels count, four to a doubling, from the
 *           present level up: each must have been taken again in whole, four times in a row, without a pause of T, as
 *           this memory may stay for ever after the last of many rises. In a fast row half of a step, once, is enough:
 *           fetching the bytes taken again would cost a twentieth of the row's time.
 *
 *               bytes |   /\/\/\/\         replaced blocks: rises here prove nothing below
 *                     |  /        \ 
 *                     | /          \___   live: bound            /\  /\__  live: all of the last rise may stay
 *                     +-----------------------------------  ____/  \/
 *
 *           A kind that learns (modes shadow and evolving, setting lab_learn_kinds), or that learnt (mode frozen), has
 *           two sums in place of most - live (tables/learning.h): bytes with a known keep time, and unproved bytes,
 *           which reuse must prove:
 *
 *               may stay  =  known  +  min(unproved, max(least, reused))  +  min(max(most, 12 MiB) * slack, misfit)
 * owner     The owner of the kind: runs, slabs, big blocks.
 * locks     The owner's lock.
 * orders    Under the lock.
 * failure   None. A clock that stands still makes T longer.
 * not here  T and the slack, set by the price: retain/rent.h.
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

/* Steps of levels: [0, 4 MiB), [4 MiB, 5 MiB), ... [7 MiB, 8 MiB), [8 MiB, 10 MiB), ... up to 16 GiB. */
enum { HAK_WATERMARK_STEPS = 49 };

/* The last T in parts, the youngest first. All zero: nothing was ever live. */
struct hak_watermark {
  uint64_t live;                   /* [bytes] at the last note */
  uint64_t most, reused;          /* [bytes] within the last T: live at a time; taken while below the most */
  uint64_t row_ms, now_ms;         /* when bytes were first reused without a pause of T since, 0: none; the last note */
  uint64_t again[HAK_WATERMARK_STEPS]; /* [bytes] reused since row_ms, by the step of their level */
  uint64_t misfit;                  /* [bytes] within the last T: fetched while as many were free */
  uint64_t part_ms;                /* T / HAK_WATERMARK_PARTS; 0: not set yet, as nothing was fetched */
  uint64_t since_ms;               /* when the youngest part began */
  struct hak_watermark_part part[HAK_WATERMARK_PARTS];
  struct hak_kind *learnt;         /* NULL: does not learn */
};

/* From here on the kind learns as kind `id`, or does not learn. hak_watermark_learn: no effect if that is so
 * already. */
void hak_watermark_learn_anew(struct hak_watermark *level, enum hak_kind_id id, bool learns);
static inline void hak_watermark_learn(struct hak_watermark *level, enum hak_kind_id id, bool learns) {
  if (HAK_UNLIKELY(learns != (level->learnt != NULL))) hak_watermark_learn_anew(level, id, learns);
}

/* True if nothing may stay and, within the last T, nothing could: `live` is the most, and nothing was reused. */
bool hak_watermark_is_flat(const struct hak_watermark *level);

/* Sets T. */
void hak_watermark_set_rent(struct hak_watermark *level, uint64_t rent_ms);

/* Notes `live` bytes. suppose: as if `live` bytes, at least as many as noted last, were live: changes live, most and
 * reused alone. */
void hak_watermark_note(struct hak_watermark *level, uint64_t live, uint64_t now_ms);
void hak_watermark_suppose(struct hak_watermark *level, uint64_t live);

/* Notes that `bytes` bytes of `live` were not live within the last T: caches held them. */
void hak_watermark_discount(struct hak_watermark *level, uint64_t bytes);

/* Notes bytes that were fetched while as many were free. */
void hak_watermark_note_misfit(struct hak_watermark *level, uint64_t bytes);

/* [bytes] of free memory that may stay; `least` bytes need no reuse, `slack` is in percent of the most. */
uint64_t hak_watermark_keep_limit(const struct hak_watermark *level, uint64_t least, uint64_t slack);

/* [bytes] of `stay` bytes: more than `bound` bytes need steps taken again from `live` up, four times in a row or
 * fast. */
uint64_t hak_watermark_bounded(const struct hak_watermark *level, uint64_t stay, uint64_t bound);

#endif
