/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stats_page.h: the state of the process in a file, for others to read while it runs.
 *
 * what      A page that tells what it holds: rows of names, units, help and values, for the counters, the fields of
 *           struct hak_stats, and what tables/stats.def adds. It is written anew at slow doors, so often that this
 *           takes a 256th of the time, also without a reader. When memory went back, a big block came, was resized or
 *           freed, or a peak was checked, it is written at once, with a 256th of each 256 ms for that.
 *
 *               file <path>.<pid>:  | "HAKSTA02" | rows u32 | row bytes u32 | sequence u64 | when u64 | version[16] |
 *                                   0            8          12              16             24        32
 *
 *                                   | extents u32 | extent bytes u32 | left out u64 |
 *                                   48            52                 56
 *
 *                                   | kind u32 | unit u32 | value u64 | name[24] | help[96] | the next row ...
 *                                   64
 *
 *                                   | address u64 | bytes u64 | kind u64 | the next extent ...
 *                                   behind the rows
 *
 *           The sequence is odd while rows are written; a reader begins again until it is even and the same at both
 *           ends. When: ns of CLOCK_MONOTONIC. Kind: 0 a counter, 1 a state. Unit: 0 none, 1 bytes, 2 ns. Extents say
 *           where HAKMEM's memory lies, in no order, with the kinds of tables/extents.h; left out: bytes that had no
 *           room in the list.
 * owner     Whoever holds the claim writes. The file is its owner's only.
 * locks     The boxes', for the sums and extents; none is held by who calls, nor over a store into the file.
 * orders    The sequence is stored before and after with fences between.
 * hot path  No. Off, no door has an instruction for it: it is a further reason to stop at the caretaker.
 * failure   A file that cannot be made: one line on stderr, and nothing is written. A fork's child writes nothing.
 * not here  Text: `hakmem stats`, `hakmem top`. Where the counters live: tables/counters.h.
 */
#ifndef HAK_OBSERVE_STATS_PAGE_H
#define HAK_OBSERVE_STATS_PAGE_H

#include "base/atomic.h"
#include "base/bits.h"
#include "cache/account.h"

/* At start, before there are threads. */
void hak_stats_page_start(const char *path);

/* Write the page anew, if there is time for it. There is one. */
void hak_stats_page_write(void);
void hak_stats_page_write_soon(void);

/* At a slow door: if there is a page, and it is time. With no lock held. */
static inline void hak_stats_page_show(void) {
  if (HAK_UNLIKELY(hak_load(&g_account.shows) != 0)) hak_stats_page_write();
}

/* Much has changed, and no slow door may come for long: the same, at once. */
static inline void hak_stats_page_changed(void) {
  if (HAK_UNLIKELY(hak_load(&g_account.shows) != 0)) hak_stats_page_write_soon();
}

#endif
