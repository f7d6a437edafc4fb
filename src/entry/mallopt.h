/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* mallopt.h: memory that stays, and where blocks lie, as requested by mallopt.
 *
 * what      Four parameters of glibc, translated to this heap. Real-time programs set the first two, touch the memory
 *           that they need, and expect no page fault from then on.
 *
 *              M_TRIM_THRESHOLD -1   g_hold_floor = all: no price, limit or peak releases free memory
 *              M_TRIM_THRESHOLD n    g_hold_floor = n: n bytes of each kind stay, unless memory is short
 *              M_MMAP_MAX 0          big_threshold above all sizes: every block lies in the range
 *              M_MMAP_THRESHOLD n    big_threshold = n, or the setting's least value
 *              M_TOP_PAD n           g_range.least_step = n, in units
 *
 *           With M_TRIM_THRESHOLD -1, tables are fetched ahead: existing tables, and a reserve.
 * owner     g_mallopt (in mallopt.c): the former big_threshold, while big_threshold is above all sizes.
 * locks     g_mallopt.lock, around big_threshold and what it was; of two concurrent calls either wins.
 * failure   False: glibc refuses the value too.
 * not here  malloc_trim, which releases all free memory nonetheless; a failed allocation, which does so too.
 */
#ifndef HAK_ENTRY_MALLOPT_H
#define HAK_ENTRY_MALLOPT_H

#include <stdbool.h>

/* Each sets the parameter to `value`. */
bool hak_mallopt_trim_threshold(int value);
bool hak_mallopt_top_pad(int value);
bool hak_mallopt_mmap_threshold(int value);
bool hak_mallopt_mmap_max(int value);

#endif
