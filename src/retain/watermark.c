/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* watermark.c: how much free memory may stay.
 *
 * what      A sliding maximum and sliding sums in a ring of parts; see watermark.h.
 * orders    Under the lock.
 */
#include "retain/watermark.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "tables/settings.h"

/* Until now `live` was as last noted. */
static void begin_part(struct hak_watermark *level) {
  for (unsigned i = HAK_WATERMARK_PARTS - 1; i > 0; i--) level->part[i] = level->part[i - 1];
  level->part[0] = (struct hak_watermark_part){.most = level->live, .least = level->live};
}

static void sum_scores(struct hak_watermark *level) {
  level->most = level->reused = level->misfit = 0;
  for (unsigned i = 0; i < HAK_WATERMARK_PARTS; i++) {
    level->most = hak_max(level->most, level->part[i].most);
    level->reused += level->part[i].reused;
    level->misfit += level->part[i].misfit;
  }
}

void hak_watermark_set_rent(struct hak_watermark *level, uint64_t rent_ms) {
  level->part_ms = hak_max(rent_ms / HAK_WATERMARK_PARTS, 1);
}

static HAK_NOINLINE void pass_time(struct hak_watermark *level, uint64_t now_ms) {
  uint64_t parts = (now_ms - level->since_ms) / hak_max(level->part_ms, 1);
  level->since_ms = parts < HAK_WATERMARK_PARTS ? level->since_ms + parts * level->part_ms : now_ms;
  for (uint64_t i = 0; i < hak_min(parts, HAK_WATERMARK_PARTS); i++) begin_part(level);
  sum_scores(level);
  if (level->reused == 0) level->in_a_row = 0;
}

void hak_watermark_note_misfit(struct hak_watermark *level, uint64_t bytes) {
  level->misfit += bytes;
  level->part[0].misfit += bytes;
}

/* Notes the rise up to `high`, the most at most: what rises above is no reuse, and the next rise begins there. */
static void note_rise(struct hak_watermark_part *part, uint64_t was, uint64_t high) {
  part->least = hak_min(part->least, was);
  if (hak_less(high, part->least) <= part->high - part->low) return;
  part->low = part->least;
  part->high = high;
}

void hak_watermark_discount(struct hak_watermark *level, uint64_t bytes) {
  level->live = hak_less(level->live, bytes);
  level->most = hak_max(hak_less(level->most, bytes), level->live);
  for (unsigned i = 0; i < HAK_WATERMARK_PARTS; i++) {
    level->part[i].most = hak_max(hak_less(level->part[i].most, bytes), level->live);
  }
}

static void raise_watermark(struct hak_watermark *level, uint64_t was, uint64_t live, uint64_t now_ms) {
  uint64_t high = hak_min(live, level->most), taken = high - hak_min(was, level->most);
  note_rise(&level->part[0], was, high);
  if (live > level->most) level->part[0].least = live;
  level->reused += taken;
  if (level->in_a_row == 0) level->row_ms = now_ms;
  level->in_a_row += taken;
  level->part[0].reused += taken;
  level->most = hak_max(level->most, live);
  level->part[0].most = hak_max(level->part[0].most, live);
}

/* ---- learning ---- */

void hak_watermark_learn_anew(struct hak_watermark *level, enum hak_kind_id id, bool learns) {
  const struct hak_learning *learning = hak_load_acquire(&g_learning);
  level->learnt = learns && learning != NULL ? learning->kind_begins(id) : NULL;
}

static HAK_NOINLINE void note_learnt(struct hak_watermark *level, uint64_t now_ms) {
  hak_load(&g_learning)->kind_noted(level->learnt, level->live, level->part_ms * HAK_WATERMARK_PARTS, now_ms);
}

/* ---- live bytes ---- */

void hak_watermark_note(struct hak_watermark *level, uint64_t live, uint64_t now_ms) {
  /* clocks of concurrent threads lag a little; a time far behind is a different clock */
  uint64_t part_ms = level->part_ms;
  if (HAK_UNLIKELY(now_ms - level->since_ms + part_ms > 2 * part_ms)) pass_time(level, now_ms);
  uint64_t was = level->live;
  level->live = live;
  level->now_ms = now_ms;
  if (live > was) raise_watermark(level, was, live, now_ms);
  if (HAK_UNLIKELY(level->learnt != NULL)) note_learnt(level, now_ms);
}

static const struct hak_kind *what_counts(const struct hak_watermark *level) {
  return level->learnt != NULL && hak_setting(mode) == HAK_MODE_EVOLVING ? level->learnt : NULL;
}

bool hak_watermark_is_flat(const struct hak_watermark *level) {
  const struct hak_kind *kind = what_counts(level);
  bool kept = kind != NULL && (kind->known | kind->unproved) != 0;
  return level->reused == 0 && level->most == level->live && !kept;
}

/* Of the bytes by which `live` fell: the bytes with a known keep time, and of the rest the unproved bytes, at most
 * `proof`. The last quantum in use may be free in part. */
static uint64_t kept_as_learnt(const struct hak_kind *kind, uint64_t live, uint64_t fell, uint64_t proof) {
  uint64_t part = hak_less(kind->in_use, live);
  return kind->known + hak_min(hak_min(kind->unproved + part, hak_less(fell, kind->known)), proof);
}

/* The end of the part's rise, if the rise begins within `gap` above `at`; else `at`. */
static uint64_t climb(const struct hak_watermark_part *part, uint64_t at, uint64_t gap) {
  return part->low <= at + gap ? hak_max(at, part->high) : at;
}

/* Bytes from `live` up that were taken again within T: a rise may span several parts. */
static HAK_NOINLINE uint64_t taken_again(const struct hak_watermark *level, uint64_t gap) {
  uint64_t at = level->live, was;
  do {
    was = at;
    for (unsigned i = 0; i < HAK_WATERMARK_PARTS; i++) at = climb(&level->part[i], at, gap);
  } while (at != was);
  return at - level->live;
}

/* Of `stay` bytes those whose levels were taken again from `live` up. If these levels reach half of the most, sizes
 * differ as before and all of `stay` counts, the slack for misfits too. */
static uint64_t stay_by_levels(const struct hak_watermark *level, uint64_t stay, uint64_t bound) {
  uint64_t again = taken_again(level, bound);
  return level->live + again >= level->most / 2 ? stay : hak_min(stay, hak_max(bound, again));
}

/* [bytes] of the greatest rises of all parts above `live`. */
static uint64_t risen(const struct hak_watermark *level) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < HAK_WATERMARK_PARTS; i++) {
    sum += hak_less(level->part[i].high, hak_max(level->part[i].low, level->live));
  }
  return sum;
}

/* True if to fetch the rises of the last T would have taken a tenth of the time, at 1 us for a page of 4 KiB. */
static bool are_rises_fast(const struct hak_watermark *level) {
  enum { BYTES_PER_MS = 400 << 10 };
  uint64_t rent_ms = level->part_ms * HAK_WATERMARK_PARTS, row_ms = hak_less(level->now_ms, level->row_ms);
  return risen(level) >= hak_min(hak_max(row_ms, rent_ms / 4), rent_ms) * BYTES_PER_MS;
}

uint64_t hak_watermark_bounded(const struct hak_watermark *level, uint64_t stay, uint64_t bound) {
  enum { TIMES = 4 };
  if (stay <= bound) return stay;
  uint64_t by_levels = stay_by_levels(level, stay, bound), proven = hak_max(bound, level->in_a_row / TIMES);
  return by_levels <= proven || are_rises_fast(level) ? by_levels : proven;
}

/* The slack is a share of at least SMALL bytes: a few blocks of hundreds of KiB need one more to fit anywhere. */
uint64_t hak_watermark_keep_limit(const struct hak_watermark *level, uint64_t least, uint64_t slack) {
  enum { SMALL = 12 << 20 };
  uint64_t fell = hak_less(level->most, level->live), proof = hak_max(level->reused, least);
  const struct hak_kind *kind = what_counts(level);
  uint64_t kept = HAK_UNLIKELY(kind != NULL) ? kept_as_learnt(kind, level->live, fell, proof) : hak_min(fell, proof);
  return kept + hak_min(hak_max(level->most, SMALL) / 100 * slack, level->misfit);
}
