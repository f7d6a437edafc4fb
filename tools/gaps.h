/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gaps.h: how long free blocks wait until they are asked for again.
 *
 * what      Blocks of some size and more lie in pools by size, re-used last in, first out. Each time that one waits in
 *           its pool is a gap: its length, its pages, the site and the bin of the block that was freed. Gaps do not
 *           depend on how long anybody keeps the block: whether it was kept is asked later, of each gap by itself.
 *           A record stands for a piece of memory. Turns say in order what became of each, for who learns meanwhile:
 *
 *             taken       a block has the record; moved from another, it has been resized to another bin
 *             freed       the record lies in its pool, and a gap begins; of one that was moved from, too
 * owner     The caller, until hak_gaps_drop.
 * failure   Out of memory: false.
 * not here  What a gap costs: policies.h.
 */
#ifndef HAK_TOOLS_GAPS_H
#define HAK_TOOLS_GAPS_H

#include "events.h"

struct hak_cut {
  uint64_t least; /* bytes of the smallest block that is looked at */
  uint32_t bins;  /* sizes that are told apart between a power of two and the next */
  bool turns;     /* are asked for */
};

struct hak_gap {
  uint64_t freed_ns, ns; /* when it began, and how long it was; they lie in the order in which they ended */
  uint32_t pages;
  uint32_t group : 31, open : 1; /* open: nobody asked for it again, and it ends with the process */
  uint32_t turn;                 /* with which it began */
};

struct hak_turn {
  uint64_t ns;
  uint32_t record, from;          /* from 1 on; from: the record it was moved from; 0: none */
  uint32_t pages;
  uint32_t group : 31, freed : 1; /* as the block is now */
};

/* Gaps of blocks of one bin that one site had asked for. */
struct hak_group {
  uint32_t site, bin;
};

struct hak_gaps {
  struct hak_gap *gap;
  struct hak_group *group;
  struct hak_turn *turn;
  size_t gaps, turns;
  uint32_t groups;
  uint64_t blocks; /* of that size */
  uint64_t first;  /* of them, those for which no free one lay there: each policy fetches them; as many records */
};

enum { HAK_BINS_MOST = 64, HAK_PAGE = 4096 };

bool hak_gaps_collect(const struct hak_process *process, struct hak_cut cut, struct hak_gaps *out);
void hak_gaps_drop(struct hak_gaps *gaps);

/* Of sizes up to the bin's largest, those above the largest of the bin before. */
uint32_t hak_bin_of(uint64_t bytes, uint32_t bins);

#endif
