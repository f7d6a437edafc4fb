/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* region.h: advice to the kernel for 2 MiB regions of the range.
 *
 * what      Where huge pages may be, and which free memory a core dump leaves out. The advice of a region is one of:
 *           plain   the default of the range
 *           huge    a huge page: fetched as one (retain/huge.h), and nothing was given back since but the whole
 *           quiet   left out of core dumps: inside a clean run of at least 8 MiB
 *           small   small pages, where the system gives plain regions middle pages: huge advice was withdrawn
 *
 *               region    |  0  |  1  |  2  |  3  |  4  |  5  |  6  |  7  |  8  |       32 units each
 *               units      used   used  used  used   clean clean clean clean used
 *               advice       -   huge  huge    -   quiet quiet quiet quiet   -
 *               mappings  [     |           |     |                       |     ]       4 borders: 5 mappings
 *
 *           The number of borders is bounded, as each border is a kernel mapping more. At the bound no advice is given,
 *           and advice withdrawn in the middle of equal regions is withdrawn up to the next plain region.
 *           A region that had small pages has a page table, and the kernel gives no huge page there until the table is
 *           gone: kernels from 6.14 on free the table when the whole region is purged by one call.
 * owner     g_region (in region.c): one byte per region, for the first 32 GiB. Regions beyond keep the default.
 * locks     g_region.lock, taken under a class lock or under g_runs.lock. No lock is taken under g_region.lock.
 * orders    Relaxed. The byte is written before the kernel call that gives advice, and cleared after the call that
 *           withdraws advice: after a fork while another thread is inside, a byte may name advice that the kernel does
 *           not have, never the reverse.
 * hot path  No. While all regions are plain, taking a run costs one load here.
 * failure   If the kernel refuses, the region keeps the advice of before.
 * not here  When pages are released: runs/runs.h and blocks/slab.h. How much free memory may stay: src/retain.
 */
#ifndef HAK_RUNS_REGION_H
#define HAK_RUNS_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"

/* The units were just mapped: gives the default advice. Lock: g_runs.lock held. */
void hak_region_grown(uint32_t first, size_t units);

/* The clean run, given at its full length, has no pages: core dumps leave its regions out. Lock: g_runs.lock held. */
void hak_region_cleaned(uint32_t first, size_t units);

/* The clean run was unmapped, and the kernel dropped its advice. Lock: g_runs.lock held. */
void hak_region_gone(uint32_t first, size_t units);

/* The units of a clean run are about to be used: withdraws quiet advice, and huge advice of regions used in part.
 * Lock: g_runs.lock held. */
void hak_region_used(uint32_t first, size_t units);

/* Before a purge of these units: withdraws the huge advice of sparse regions that the purge would split. True if a
 * dense huge region would be split: the caller had better not purge. Dense: every unit in use, 7/8 of the bytes handed
 * out in blocks of at most a page. */
bool hak_region_keep(uint32_t first, size_t units);

/* Before a purge that happens whatever the price: withdraws the huge advice of dense regions, too. */
void hak_region_break(uint32_t first, size_t units);

/* The first unit from `unit` on, and the last end of units up to `unit`, that tear no huge page where a purge begins or
 * ends: `unit` itself, or the border of its region. */
uint32_t hak_region_whole_start(uint32_t unit);
uint32_t hak_region_whole_end(uint32_t unit);

/* A run in use is about to be freed: one call withdraws a program's advice for huge pages, if the run has room for a
 * huge page. Regions that are huge by HAKMEM's own advice stay so at both ends. */
enum { HAK_REGION_UNITS = 32 };
void hak_region_withdraw(uint32_t first, size_t units);
static inline void hak_region_freed(uint32_t first, size_t units) {
  if (HAK_UNLIKELY(units >= HAK_REGION_UNITS)) hak_region_withdraw(first, units);
}

/* True if a region has advice for a huge page. Thread-safe. */
bool hak_region_any_huge(void);

/* The region that begins at unit `first`. is_huge: it has advice for a huge page. open: it is free and clean, and gets
 * this advice for its next first touch; tabled: it has a page table of small pages, which is freed first. False, and
 * the region is plain: refused. close: the first touch got a small page all the same: withdraws the advice. Lock:
 * g_runs.lock held, for close none. */
bool hak_region_is_huge(uint32_t first);
bool hak_region_open(uint32_t first, bool tabled);
void hak_region_close(uint32_t first);

#endif
