/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* region.h: advice to the kernel for 2 MiB regions of the range.
 *
 * what      Where huge pages may be, and what a core dump leaves out. A region has the chunks' default advice, or it
 *           is advised huge (all units in use, 7/8 of it out as blocks of up to a page), or it is left out of core
 *           dumps (inside a clean run of at least 8 MiB).
 *
 *               region    |  0  |  1  |  2  |  3  |  4  |  5  |  6  |  7  |  8  |       32 units each
 *               units      used   dense dense holes  clean clean clean clean used
 *               advice       -   huge  huge    -   quiet quiet quiet quiet   -
 *               mappings  [     |           |     |                       |     ]       4 borders: 5 mappings
 *
 *           The number of borders is bounded; where there is no room for one more, no advice is given, and what must
 *           be taken back from the middle of a run is taken back up to the run's end.
 * owner     g_region (in region.c): one byte per region, for the first 32 GiB. Regions beyond keep the default.
 * locks     Its own, taken under any class lock and under span's; nothing is taken under it.
 * orders    The bytes are relaxed. Advice is written down before it is given and struck out after it was taken back,
 *           so that a cut leaves at most a note of advice that the kernel does not have.
 * hot path  No; while no region has advice of its own, a run taken costs one load.
 * failure   A kernel that refuses: the region keeps the advice it has.
 * not here  When pages are given back: runs/runs.h and blocks/slab.h. What free pages are for: src/front.
 */
#ifndef HAK_RUNS_REGION_H
#define HAK_RUNS_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* These units were just mapped: they get the default advice. Span's lock is held. */
void hak_region_grown(uint32_t first, size_t units);

/* This clean run, at its full length, has no pages: core dumps leave it out. Span's lock is held. */
void hak_region_cleaned(uint32_t first, size_t units);

/* This clean run was unmapped, and with it what was advised there. Span's lock is held. */
void hak_region_gone(uint32_t first, size_t units);

/* These units of a clean run are about to be used. Span's lock is held. */
void hak_region_used(uint32_t first, size_t units);

/* Pages of these units are about to be purged: huge advice is taken back where they would split a huge page. True: it
 * is better not to, as they lie in a huge region that is still dense. */
bool hak_region_keep(uint32_t first, size_t units);

/* The same for who purges whatever it costs: huge advice is taken back from dense regions too. */
void hak_region_break(uint32_t first, size_t units);

/* Looks at the next 512 MiB: a region that was found dense twice is advised huge, one that was found sparse twice no
 * more. No lock need be held. A kernel call per region that changes. */
void hak_region_sweep(void);

/* How many of those it last came by were dense. */
uint64_t hak_region_dense(void);

#endif
