/* level.c: how much free memory may stay.
 *
 * what      A sliding maximum and a sliding sum in a ring of parts; see level.h.
 * orders    Under the lock.
 */
#include "core/level.h"

#include "base/bits.h"

/* Until now the level was as it was last noted. */
static void begin_part(struct hak_level *level) {
  for (unsigned i = HAK_LEVEL_PARTS - 1; i > 0; i--) level->part[i] = level->part[i - 1];
  level->part[0] = (struct hak_level_part){.most = level->live};
}

static void sum_up(struct hak_level *level) {
  level->most = level->retaken = level->unfit = 0;
  for (unsigned i = 0; i < HAK_LEVEL_PARTS; i++) {
    level->most = hak_max(level->most, level->part[i].most);
    level->retaken += level->part[i].retaken;
    level->unfit += level->part[i].unfit;
  }
}

void hak_level_set_rent(struct hak_level *level, uint64_t rent_ms) {
  level->part_ms = hak_max(rent_ms / HAK_LEVEL_PARTS, 1);
}

static HAK_NOINLINE void pass_time(struct hak_level *level, uint64_t now_ms) {
  uint64_t parts = (now_ms - level->since_ms) / hak_max(level->part_ms, 1);
  level->since_ms = parts < HAK_LEVEL_PARTS ? level->since_ms + parts * level->part_ms : now_ms;
  for (uint64_t i = 0; i < hak_min(parts, HAK_LEVEL_PARTS); i++) begin_part(level);
  sum_up(level);
}

void hak_level_note_unfit(struct hak_level *level, uint64_t bytes) {
  level->unfit += bytes;
  level->part[0].unfit += bytes;
}

static void rise(struct hak_level *level, uint64_t was, uint64_t live) {
  uint64_t taken = hak_min(live, level->most) - hak_min(was, level->most);
  level->retaken += taken;
  level->part[0].retaken += taken;
  level->most = hak_max(level->most, live);
  level->part[0].most = hak_max(level->part[0].most, live);
}

void hak_level_note(struct hak_level *level, uint64_t live, uint64_t now_ms) {
  uint64_t part_ms = level->part_ms; /* other threads' clocks are a little behind; one far behind is another clock */
  if (HAK_UNLIKELY(now_ms - level->since_ms + part_ms > 2 * part_ms)) pass_time(level, now_ms);
  uint64_t was = level->live;
  level->live = live;
  if (live > was) rise(level, was, live);
}

uint64_t hak_level_may_stay(const struct hak_level *level, uint64_t least, uint64_t slack) {
  uint64_t fell = level->most - hak_min(level->live, level->most);
  uint64_t much = level->most - hak_min(HAK_LEVEL_LEAST, level->most);
  return hak_min(fell, hak_max(level->retaken, least)) + hak_min(much / 100 * slack, level->unfit);
}
