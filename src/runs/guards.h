/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guards.h: guards between the regions of the range, and random places of runs. In libhakmem-secure.so only.
 *
 * what      The last unit of each region of 2 MiB is a hole that no access reaches (os/guard.h):
 *
 *               region      | 31 units: runs .................... | guard | 31 units: runs ............. | guard |
 *
 *           Free runs end there, so a run of at most 31 units never lies beside one of another region. A longer run
 *           (larger alignments; blocks of more than 1,984 KiB where big_threshold is raised) is made of one growth,
 *           with a guard behind its last region only; when it is free again, shorter runs may take its inner borders.
 *           Where memory for a guard is refused, the unit stays a hole.
 * locks     g_runs.lock.
 * failure   As hak_range_grow: HAK_NO_UNIT.
 * not here  Guards behind big blocks: secure/.
 */
#ifndef HAK_RUNS_GUARDS_H
#define HAK_RUNS_GUARDS_H

#include "runs/runs_internal.h"

/* Lets the range grow by at least `units` units and a guard; enters all as clean runs. Returns one with room for
 * `units` units. */
uint32_t hak_guards_grow_locked(size_t units, size_t align);

/* A random place for `units` units in the free run that begins at `first`: at either end of a dirty run, which keeps
 * the rest in one piece; at any multiple of `units` from either end of a clean run, whose rest costs no memory. */
uint32_t hak_guards_place_locked(uint32_t first, size_t units);

/* One of the first few runs of a bin, at random. first: a unit. */
uint32_t hak_guards_any_of(uint32_t first);

#endif
