/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gaps.h: how long free blocks wait for the next request.
 *
 * what      Blocks of at least some size lie in pools by size, reused last in, first out. Each wait in a pool is a
 *           gap: its length, its pages, the site and the bin of the freed block. A gap does not depend on how long a
 *           policy keeps the block: a policy is applied later, to each gap by itself.
 *           A record stands for a piece of memory. Turns list the changes of the records in order, for a learner that
 *           learns meanwhile:
 *
 *            taken       a block takes the record; `from`: the block was resized out of a different bin
 *            freed       the record enters its pool, and a gap begins; also for the record of a moved block
 * owner     The caller, until hak_gaps_drop.
 * failure   Out of memory: false.
 * not here  The cost of a gap: policies.h.
 */
#ifndef HAK_TOOLS_GAPS_H
#define HAK_TOOLS_GAPS_H

#include "events.h"

struct hak_cut {
  uint64_t least; /* [bytes] smallest block */
  uint32_t bins;  /* number of sizes per power of two */
  bool turns;     /* true: collect turns */
};

struct hak_gap {
  uint64_t freed_ns, ns; /* begin and length; gaps are ordered by their ends */
  uint32_t pages;
  uint32_t group : 31, open : 1; /* open: not requested again, ends with the process */
  uint32_t turn;                 /* turn that begins the gap */
};

struct hak_turn {
  uint64_t ns;
  uint32_t record, from;          /* from 1; from: record of the block before the resize, 0: none */
  uint32_t pages;
  uint32_t group : 31, freed : 1; /* group, pages: of the present block */
};

/* Gaps of blocks of one bin requested by one site. */
struct hak_group {
  uint32_t site, bin;
};

struct hak_gaps {
  struct hak_gap *gap;
  struct hak_group *group;
  struct hak_turn *turn;
  size_t gaps, turns;
  uint32_t groups;
  uint64_t blocks; /* of at least hak_cut.least bytes */
  uint64_t first;  /* blocks that found an empty pool: fetched under any policy; also the number of records */
};

enum { HAK_BINS_MOST = 64, HAK_PAGE = 4096 };

bool hak_gaps_collect(const struct hak_process *process, struct hak_cut cut, struct hak_gaps *out);
void hak_gaps_drop(struct hak_gaps *gaps);

/* The bin of a size. A bin has the sizes above the largest size of the bin below. */
uint32_t hak_bin_of(uint64_t bytes, uint32_t bins);

#endif
