/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* journal.h: the inputs of a keeper, in order, for an exact replay.
 *
 * what      A row for each call that changes a keeper, in memory backed by a file. A keeper that is fed the rows makes
 *           the same decisions, byte for byte, on any machine: tools/redecide.c.
 *
 *               "HAKTLD01" | row bytes u32 | 0 u32 | room u64 | count u64 | rows of 40 bytes ...
 *
 *           Rows beyond the room are counted, not written: if count is above room, the end is missing. The library
 *           never reads the file; the writer keeps a count of its own.
 * owner     The keeper's caller.
 * orders    `count` is stored with release after the row, so a concurrent reader sees whole rows.
 * not here  The file: learn/decisions.h.
 */
#ifndef HAK_LEARN_JOURNAL_H
#define HAK_LEARN_JOURNAL_H

#include "learn/leader.h"

struct hak_asker;

enum hak_told_kind {
  HAK_TOLD_TAKEN = 1,
  HAK_TOLD_FREED,
  HAK_TOLD_UNNOTED,  /* taken without a note; only `bin` is set */
  HAK_TOLD_ASKED,    /* the arm of site and bin was asked for */
  HAK_TOLD_DROPPED,  /* open waits were dropped */
  HAK_TOLD_PAID,     /* `paid` of the row restored next */
  HAK_TOLD_RESTORED, /* site, bin, arm and weight of a restored row */
  HAK_TOLD_KINDS
};

/* Fixed width and little-endian. */
struct hak_told {
  union {
    struct {
      uint64_t now, break_even, label;
      uint32_t site, bin; /* UINT32_MAX: any */
    };
    uint32_t paid[HAK_ARMS];
  };
  uint32_t depth;
  uint16_t weight;
  uint8_t kind, arm;
};
static_assert(sizeof(struct hak_told) == 40, "a row of the file is 40 bytes");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is as it lies in memory");

struct hak_journal {
  char magic[8]; /* "HAKTLD01" */
  uint32_t row_bytes, zero;
  uint64_t room, count;
  struct hak_told row[];
};
static_assert(sizeof(struct hak_journal) == 32, "the file");

/* hak_journal_start: makes an empty journal of `bytes` bytes. hak_journal_room: rows that fit into `bytes` bytes. */
void hak_journal_start(struct hak_journal *journal, size_t bytes);
uint64_t hak_journal_room(size_t bytes);

/* The writer's view of a journal. */
struct hak_journal_end {
  struct hak_journal *file; /* NULL: nothing is written */
  uint64_t room, count;
};

void hak_journal_write(struct hak_journal_end *end, enum hak_told_kind kind, const struct hak_asker *asker,
                       unsigned arm);
void hak_journal_write_restored(struct hak_journal_end *end, uint32_t site, uint32_t bin, unsigned arm,
                                const struct hak_leader *row);

#endif
