/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guards.h: guards between the regions of the range, and random places of runs. In libhakmem-secure.so only.
 *
 * what      Behind each region of 2 MiB lie 2 MiB of holes that no access reaches. So a whole region may be one huge
 *           page (runs_open.c):
 *
 *               range       | 32 units: runs ....... | guard: 32 units | 32 units: runs ....... | guard: 32 units |
 *
 *           The first guards, as many as a process may well have mappings for, are unmapped; later ones are made as
 *           os/guard.h says. Free runs end at guards, so a run of at most 32 units never lies beside one of another
 *           region. A longer run (blocks of more than 2 MiB where big_threshold is raised, and alignments above 4 MiB)
 *           begins at a region's begin, with a guard behind its last region only; when it is free again, shorter runs
 *           may take its inner borders. Where memory for a guard is refused, the units stay holes.
 * locks     g_runs.lock.
 * failure   As hak_range_grow: HAK_NO_UNIT.
 * not here  Guards behind big blocks: secure/.
 */
#ifndef HAK_RUNS_GUARDS_H
#define HAK_RUNS_GUARDS_H

#include "runs/runs_internal.h"

/* Lets the range grow by at least `units` units, up to the next guard and over it; enters all as clean runs. Returns
 * one with room for `units` units at a multiple of `align` units, a power of two. */
uint32_t hak_guards_grow_locked(size_t units, size_t align);

/* A random place for `units` units in the free run that begins at `first`: at either end of a dirty run, which keeps
 * the rest in one piece; at any multiple of `units` from either end of a clean run, whose rest costs no memory, but not
 * at the end of a whole region, which then may become a huge page (runs_open.c). */
uint32_t hak_guards_place_locked(uint32_t first, size_t units);

/* One of the first few runs of a bin, at random. first: a unit. */
uint32_t hak_guards_any_of(uint32_t first);

#endif
