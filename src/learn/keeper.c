/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* keeper.c: learns keep times from blocks taken and freed.
 *
 * what      See keeper.h.
 */
#include "learn/keeper.h"

#include <stddef.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"

enum { CLOSED_AT_ONCE = 2 }; /* a call opens at most 1 wait, so overdue waits do not pile up */

/* ---- waits ---- */

/* Not negative, even if the clock was set back. */
static uint64_t lasted(const struct hak_freed *freed, uint64_t now) { return now - hak_min(freed->since, now); }

static void note(struct hak_keeper *keeper, const struct hak_freed *freed, struct hak_wait wait,
                 struct hak_score *score) {
  hak_leaders_note(&keeper->leaders, freed->site, freed->bin, wait);
  uint64_t pages = hak_leader_pages(freed->bin);
  score->waits++;
  score->paid += pages * hak_wait_loss(wait, freed->arm);
  score->baseline += pages * hak_wait_loss(wait, HAK_ARM_BREAK_EVEN);
}

/* Notes the oldest wait, if begun before `before`, as a wait for ever. */
static void close_oldest(struct hak_keeper *keeper, const struct hak_asker *asker, uint64_t before,
                         struct hak_score *score) {
  struct hak_freed freed;
  if (!hak_waits_close_oldest(&keeper->waits, before, &freed)) return;
  note(keeper, &freed, (struct hak_wait){UINT64_MAX, asker->break_even, asker->now}, score);
}

static void close_outlasting(struct hak_keeper *keeper, const struct hak_asker *asker, struct hak_score *score) {
  uint64_t longest = hak_leader_longest(asker->break_even);
  for (unsigned i = 0; i < CLOSED_AT_ONCE; i++)
    close_oldest(keeper, asker, asker->now - hak_min(longest, asker->now), score);
}

void hak_keeper_freed(struct hak_keeper *keeper, const struct hak_asker *asker, unsigned arm, struct hak_score *score) {
  hak_journal_write(&keeper->journal, HAK_TOLD_FREED, asker, arm);
  close_outlasting(keeper, asker, score);
  if (hak_waits_full(&keeper->waits)) close_oldest(keeper, asker, UINT64_MAX, score);
  struct hak_freed freed = {asker->now, asker->site, (uint8_t)asker->bin, (uint8_t)arm};
  hak_waits_open(&keeper->waits, freed);
}

void hak_keeper_taken_unnoted(struct hak_keeper *keeper, uint32_t bin) {
  struct hak_freed freed;
  if (keeper->waits.top[bin] == 0) return;
  hak_journal_write(&keeper->journal, HAK_TOLD_UNNOTED, &(struct hak_asker){.bin = bin}, 0);
  hak_waits_close(&keeper->waits, bin, &freed);
}

void hak_keeper_drop_waits(struct hak_keeper *keeper) {
  hak_journal_write(&keeper->journal, HAK_TOLD_DROPPED, &(struct hak_asker){0}, 0);
  memset(&keeper->waits, 0, sizeof keeper->waits);
}

void hak_keeper_restore(struct hak_keeper *keeper, uint32_t site, uint32_t bin, unsigned arm,
                        const struct hak_leader *as) {
  hak_journal_write_restored(&keeper->journal, site, bin, arm, as);
  hak_leaders_restore(&keeper->leaders, site, bin, arm, as);
}

/* ---- decisions ---- */

void hak_decisions_start(struct hak_decisions *ring) {
  ring->rows = HAK_DECISIONS;
  ring->row_bytes = sizeof(struct hak_decision);
  ring->count = 0;
  memcpy(ring->magic, "HAKDEC01", sizeof ring->magic);
}

void hak_keeper_write_into(struct hak_keeper *keeper, struct hak_decisions *ring) {
  hak_decisions_start(ring);
  keeper->ring = ring;
  keeper->decided = 0;
}

static void write_down(struct hak_keeper *keeper, const struct hak_asker *asker, const struct hak_choice *choice) {
  struct hak_decisions *ring = keeper->ring;
  uint64_t number = ++keeper->decided;
  ring->row[(number - 1) % HAK_DECISIONS] = (struct hak_decision){
      .number = number,
      .when = asker->now,
      .label = asker->label,
      .keep = hak_arm_time(choice->arm, asker->break_even),
      .depth = asker->depth,
      .waits = choice->waits,
      .paid = choice->paid,
      .before = choice->paid_before,
      .bin = (uint8_t)asker->bin,
      .to = choice->arm,
      .from = choice->before,
  };
  hak_store_release(&ring->count, number);
}

unsigned hak_keeper_arm(struct hak_keeper *keeper, const struct hak_asker *asker) {
  hak_journal_write(&keeper->journal, HAK_TOLD_ASKED, asker, 0);
  return hak_leaders_arm(&keeper->leaders, asker->site, asker->bin);
}

unsigned hak_keeper_taken(struct hak_keeper *keeper, const struct hak_asker *asker, struct hak_score *score) {
  struct hak_freed freed;
  hak_journal_write(&keeper->journal, HAK_TOLD_TAKEN, asker, 0);
  close_outlasting(keeper, asker, score);
  if (hak_waits_close(&keeper->waits, asker->bin, &freed))
    note(keeper, &freed, (struct hak_wait){lasted(&freed, asker->now), asker->break_even, asker->now}, score);
  struct hak_choice choice = hak_leaders_choose(&keeper->leaders, asker->site, asker->bin);
  bool decided = choice.waits != 0 && choice.arm != choice.before;
  if (decided && keeper->ring != NULL) write_down(keeper, asker, &choice);
  return choice.arm;
}
