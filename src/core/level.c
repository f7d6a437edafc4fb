/* level.c: how much free memory may stay.
 *
 * what      A sliding maximum and a sliding sum in a ring of parts; see level.h.
 * owner     See level.h.
 * locks     See level.h.
 * orders    Under the lock.
 * hot path  No.
 * failure   See level.h.
 * not here  See level.h.
 */
#include "core/level.h"

#include "base/bits.h"

/* Until now the level was as it was last noted. */
static void begin_part(struct hak_level *level, uint64_t part_ms) {
  for (unsigned i = HAK_LEVEL_PARTS - 1; i > 0; i--) {
    level->most[i] = level->most[i - 1];
    level->again[i] = level->again[i - 1];
  }
  level->most[0] = level->live;
  level->again[0] = 0;
  level->since_ms += part_ms;
}

static void pass_time(struct hak_level *level, uint64_t now_ms, uint64_t rent_ms) {
  uint64_t part_ms = hak_max(rent_ms / HAK_LEVEL_PARTS, 1), since = now_ms - level->since_ms;
  uint64_t parts = hak_min(since / part_ms, HAK_LEVEL_PARTS);
  for (uint64_t i = 0; i < parts; i++) begin_part(level, part_ms);
  if (parts == HAK_LEVEL_PARTS) level->since_ms = now_ms;
}

static uint64_t most_of(const struct hak_level *level) {
  uint64_t most = 0;
  for (unsigned i = 0; i < HAK_LEVEL_PARTS; i++) most = hak_max(most, level->most[i]);
  return most;
}

static uint64_t again_of(const struct hak_level *level) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < HAK_LEVEL_PARTS; i++) sum += level->again[i];
  return sum;
}

void hak_level_note(struct hak_level *level, uint64_t live, uint64_t now_ms, uint64_t rent_ms) {
  pass_time(level, now_ms, rent_ms);
  uint64_t below = most_of(level) - hak_min(level->live, most_of(level));
  if (live > level->live) level->again[0] += hak_min(live - level->live, below);
  level->live = live;
  level->most[0] = hak_max(level->most[0], live);
}

uint64_t hak_level_may_stay(const struct hak_level *level, uint64_t slack) {
  uint64_t most = most_of(level), again = again_of(level), fell = most - hak_min(level->live, most);
  return hak_min(fell, hak_max(again, HAK_LEVEL_LEAST)) + hak_min(most / 100 * slack, again);
}
