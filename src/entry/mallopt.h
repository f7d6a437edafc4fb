/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* mallopt.h: memory that stays, and where blocks lie, as mallopt asks for it.
 *
 * what      Four parameters of glibc's, in this heap's own words. Programs of real time set the first two, touch what
 *           they will need, and expect no page fault from then on.
 *
 *               M_TRIM_THRESHOLD -1   g_hold_floor = all: no price, no limit and no peak makes free memory go back
 *               M_TRIM_THRESHOLD n    g_hold_floor = n: so much of each kind stays, unless memory is short
 *               M_MMAP_MAX 0          big_threshold above all sizes: every block lies in the range
 *               M_MMAP_THRESHOLD n    big_threshold = n, or the setting's least
 *               M_TOP_PAD n           g_range.least_step = n, in units
 *
 *           With the first, tables are fetched ahead: what exists of them, and a reserve.
 * owner     g_mallopt (in mallopt.c): what big_threshold was, while it is above all sizes.
 * locks     None: of two threads that call at once one wins.
 * failure   False: the value is none that glibc takes.
 * not here  malloc_trim, which gives back all the same; no memory to be had, which makes all of it go back.
 */
#ifndef HAK_ENTRY_MALLOPT_H
#define HAK_ENTRY_MALLOPT_H

#include <stdbool.h>

/* Each for a value of the parameter. */
bool hak_mallopt_trim_threshold(int value);
bool hak_mallopt_top_pad(int value);
bool hak_mallopt_mmap_threshold(int value);
bool hak_mallopt_mmap_max(int value);

#endif
