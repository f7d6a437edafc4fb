/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* journal.h: what a keeper was told, in order, so that it can be told the same anew.
 *
 * what      A row for each call that changes a keeper, in a piece of memory that is a file's. Who tells another keeper
 *           the rows has the same decisions, byte for byte, on any machine: tools/redecide.c.
 *
 *               "HAKTLD01" | row bytes u32 | 0 u32 | room u64 | count u64 | rows of 40 bytes ...
 *
 *           What no longer fits is counted and not written: of a count above the room the end is missing. The file is
 *           written only: how many rows there are is known by who writes.
 * owner     The keeper's caller.
 * orders    `count` is stored with release when its row is there: who reads beside it has whole rows.
 * not here  The file: learn/decisions.h.
 */
#ifndef HAK_LEARN_JOURNAL_H
#define HAK_LEARN_JOURNAL_H

#include "learn/leader.h"

struct hak_asker;

enum hak_told_kind {
  HAK_TOLD_TAKEN = 1,
  HAK_TOLD_FREED,
  HAK_TOLD_UNNOTED,  /* taken; only the bin counts */
  HAK_TOLD_ASKED,    /* for an arm, of site and bin */
  HAK_TOLD_DROPPED,  /* the open waits */
  HAK_TOLD_PAID,     /* of the row that is restored next */
  HAK_TOLD_RESTORED, /* site, bin, arm, weight */
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

/* An empty one in so many bytes, and how many rows these have room for. */
void hak_journal_start(struct hak_journal *journal, size_t bytes);
uint64_t hak_journal_room(size_t bytes);

/* What is known of a file that is written. */
struct hak_journal_end {
  struct hak_journal *file; /* NULL: none, and nothing is written */
  uint64_t room, count;
};

void hak_journal_write(struct hak_journal_end *end, enum hak_told_kind kind, const struct hak_asker *asker,
                       unsigned arm);
void hak_journal_write_restored(struct hak_journal_end *end, uint32_t site, uint32_t bin, unsigned arm,
                                const struct hak_leader *row);

#endif
