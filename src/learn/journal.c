/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* journal.c: the inputs of a keeper.
 *
 * what      See journal.h.
 */
#include "learn/journal.h"

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "learn/keeper.h"

uint64_t hak_journal_room(size_t bytes) { return (bytes - sizeof(struct hak_journal)) / sizeof(struct hak_told); }

void hak_journal_start(struct hak_journal *journal, size_t bytes) {
  hak_store_release(&journal->count, 0);
  journal->row_bytes = sizeof(struct hak_told);
  journal->zero = 0;
  journal->room = hak_journal_room(bytes);
  memcpy(journal->magic, "HAKTLD01", sizeof journal->magic);
}

static void add_entry(struct hak_journal_end *end, const struct hak_told *told) {
  if (end->count < end->room) end->file->row[end->count] = *told;
  hak_store_release(&end->file->count, ++end->count);
}

void hak_journal_write(struct hak_journal_end *end, enum hak_told_kind kind, const struct hak_asker *asker,
                       unsigned arm) {
  if (HAK_LIKELY(end->file == NULL)) return;
  add_entry(end, &(struct hak_told){
                   .now = asker->now,
                   .break_even = asker->break_even,
                   .label = asker->label,
                   .site = asker->site,
                   .bin = asker->bin,
                   .depth = asker->depth,
                   .kind = (uint8_t)kind,
                   .arm = (uint8_t)arm,
               });
}

void hak_journal_write_restored(struct hak_journal_end *end, uint32_t site, uint32_t bin, unsigned arm,
                                const struct hak_leader *row) {
  if (HAK_LIKELY(end->file == NULL)) return;
  struct hak_told paid = {.kind = HAK_TOLD_PAID};
  memcpy(paid.paid, row->paid, sizeof paid.paid);
  add_entry(end, &paid);
  add_entry(end, &(struct hak_told){
                   .site = site, .bin = bin, .weight = row->weight, .kind = HAK_TOLD_RESTORED, .arm = (uint8_t)arm});
}
