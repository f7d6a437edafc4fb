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
  level->part[0] = (struct hak_watermark_part){.most = level->live};
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

static HAK_NOINLINE void end_row(struct hak_watermark *level) {
  level->row_ms = 0;
  for (unsigned step = 0; step < HAK_WATERMARK_STEPS; step++) level->again[step] = 0;
}

static HAK_NOINLINE void pass_time(struct hak_watermark *level, uint64_t now_ms) {
  uint64_t parts = (now_ms - level->since_ms) / hak_max(level->part_ms, 1);
  level->since_ms = parts < HAK_WATERMARK_PARTS ? level->since_ms + parts * level->part_ms : now_ms;
  for (uint64_t i = 0; i < hak_min(parts, HAK_WATERMARK_PARTS); i++) begin_part(level);
  sum_scores(level);
  if (level->reused == 0 && level->row_ms != 0) end_row(level);
}

void hak_watermark_note_misfit(struct hak_watermark *level, uint64_t bytes) {
  level->misfit += bytes;
  level->part[0].misfit += bytes;
}

/* ---- steps ---- */

enum { STEP_LOG = 22, LAST_STEP = HAK_WATERMARK_STEPS - 1 }; /* steps begin at 4 MiB */

HAK_INLINE unsigned step_of(uint64_t bytes) {
  if (bytes >> STEP_LOG == 0) return 0;
  unsigned high = hak_highest_bit(bytes);
  return (unsigned)hak_min(1 + (high - STEP_LOG) * 4 + (unsigned)(bytes >> (high - 2) & 3), LAST_STEP);
}

/* The least bytes of a step. */
HAK_INLINE uint64_t step_start(unsigned step) {
  return step == 0 ? 0 : (uint64_t)(4 + (step - 1) % 4) << (STEP_LOG - 2 + (step - 1) / 4);
}
HAK_INLINE uint64_t step_end(unsigned step) { return step == LAST_STEP ? UINT64_MAX : step_start(step + 1); }

/* Counts the levels [from, to) as taken again. */
HAK_INLINE void count_again(struct hak_watermark *level, uint64_t from, uint64_t to) {
  for (uint64_t end; from < to; from = end) {
    unsigned step = step_of(from);
    end = hak_min(step_end(step), to);
    level->again[step] += end - from;
  }
}

void hak_watermark_discount(struct hak_watermark *level, uint64_t bytes) {
  level->live = hak_less(level->live, bytes);
  level->most = hak_max(hak_less(level->most, bytes), level->live);
  for (unsigned i = 0; i < HAK_WATERMARK_PARTS; i++) {
    level->part[i].most = hak_max(hak_less(level->part[i].most, bytes), level->live);
  }
}

static uint64_t taken_below_most(const struct hak_watermark *level, uint64_t was, uint64_t live) {
  return hak_min(live, level->most) - hak_min(was, level->most);
}

static void raise_watermark(struct hak_watermark *level, uint64_t was, uint64_t live, uint64_t now_ms) {
  uint64_t taken = taken_below_most(level, was, live);
  if (level->row_ms == 0 && taken != 0) level->row_ms = now_ms;
  count_again(level, was, was + taken);
  level->reused += taken;
  level->part[0].reused += taken;
  level->most = hak_max(level->most, live);
  level->part[0].most = hak_max(level->part[0].most, live);
}

void hak_watermark_suppose(struct hak_watermark *level, uint64_t live) {
  level->reused += taken_below_most(level, level->live, live);
  level->most = hak_max(level->most, live);
  level->live = live;
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
  return level->learnt != NULL && hak_setting(mode) >= HAK_MODE_EVOLVING ? level->learnt : NULL;
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

/* Bytes of a step below the most. */
static uint64_t step_bytes(const struct hak_watermark *level, unsigned step) {
  return hak_less(hak_min(step_end(step), level->most), step_start(step));
}

enum { TIMES = 4 }; /* a step proves itself when it was taken again so often */

/* True if the bytes taken again above `live`, at 2 us for a page of 4 KiB, would cost a twentieth of the row's time
 * to fetch. Each step counts TIMES times at most. */
static bool is_fast(const struct hak_watermark *level) {
  enum { BYTES_PER_MS = 100 << 10, LEAST_MS = 100 };
  uint64_t sum = 0;
  for (unsigned step = step_of(level->live), last = step_of(level->most); step <= last; step++) {
    sum += hak_min(level->again[step], TIMES * step_bytes(level, step));
  }
  return sum >= hak_max(hak_less(level->now_ms, level->row_ms), LEAST_MS) * BYTES_PER_MS;
}

/* Bytes from `live` up whose steps were taken again often enough; the steps up to `bound` bytes above need not be. In
 * a fast row half of a step is enough, as one rise may end a little lower than the next. */
static HAK_NOINLINE uint64_t taken_again(const struct hak_watermark *level, uint64_t bound) {
  uint64_t halves = is_fast(level) ? 1 : 2 * TIMES, at = level->live;
  while (at < level->most) {
    unsigned step = step_of(at);
    uint64_t end = hak_min(step_end(step), level->most);
    bool proven = level->again[step] != 0 && level->again[step] >= halves * (step_bytes(level, step) / 2);
    if (!proven && end > level->live + bound) break;
    at = end;
  }
  return at - level->live;
}

/* If the steps that were taken again reach half of the most, sizes differ as before and all of `stay` counts, the slack
 * for misfits too. */
uint64_t hak_watermark_bounded(const struct hak_watermark *level, uint64_t stay, uint64_t bound) {
  if (stay <= bound) return stay;
  uint64_t again = taken_again(level, bound);
  return level->live + again >= level->most / 2 ? stay : hak_min(stay, hak_max(bound, again));
}

/* The slack is a share of at least SMALL bytes: a few blocks of hundreds of KiB need one more to fit anywhere. */
uint64_t hak_watermark_keep_limit(const struct hak_watermark *level, uint64_t least, uint64_t slack) {
  enum { SMALL = 12 << 20 };
  uint64_t fell = hak_less(level->most, level->live), proof = hak_max(level->reused, least);
  const struct hak_kind *kind = what_counts(level);
  uint64_t kept = HAK_UNLIKELY(kind != NULL) ? kept_as_learnt(kind, level->live, fell, proof) : hak_min(fell, proof);
  return kept + hak_min(hak_max(level->most, SMALL) / 100 * slack, level->misfit);
}
