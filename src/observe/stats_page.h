/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stats_page.h: the state of the process in a file, for other processes to read while the process runs.
 *
 * what      A page that describes its own contents: rows of names, units, help and values, for the counters, the fields
 *           of struct hak_stats, and the states of tables/stats.def. Slow paths write the page again and again, in at
 *           most a 256th of the time, whether or not a reader is there. After a release of memory, after a big block
 *           was taken, resized or freed, and after a check of the peak limit, the page is written at once, in at most
 *           a 256th of each 256 ms.
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
 *           The sequence is odd while rows are written. A reader repeats until the sequence is even and equal before
 *           and after reading. When: ns of CLOCK_MONOTONIC. Kind of a row: 0 a counter, 1 a state. Unit: 0 none,
 *           1 bytes, 2 ns. Extents say where HAKMEM's memory lies, in no order, with the kinds of tables/extents.h.
 *           Left out: bytes without an extent, as the list was full.
 * owner     The holder of the claim writes. Only the file's owner may read the file (setting group_reads: the group,
 *           too).
 * locks     Takes the locks of src/runs and src/blocks for sums and extents. The caller holds no lock, and no lock is
 *           held over a store into the file.
 * orders    The sequence is stored before and after the rows, with fences in between.
 * hot path  No. While there is no page, a slow path reads g_account.shows at most.
 * failure   A file that cannot be made: one line on stderr, and no page. A fork's child writes nothing.
 * not here  Text: `hakmem top`. Where the counters live: tables/counters.h.
 */
#ifndef HAK_OBSERVE_STATS_PAGE_H
#define HAK_OBSERVE_STATS_PAGE_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "cache/account.h"

/* What the states are called, for this page and for readers in another process; from tables/stats.def. Arrays of
 * characters: pointers would need relocation by the loader. */
enum {
#define STAT(name, label, unit, help) + 1
#define STATE(name, unit, help) + 1
  HAK_STATES = 0
#include "tables/stats.def"
#undef STAT
#undef STATE
};
enum { HAK_STATE_NAME_BYTES = 24, HAK_STATE_HELP_BYTES = 96 };
struct hak_state_told {
  uint8_t unit; /* 0 none, 1 bytes, 2 ns */
  char name[HAK_STATE_NAME_BYTES], help[HAK_STATE_HELP_BYTES];
};
extern HAK_HIDDEN const struct hak_state_told hak_states_told[HAK_STATES];

enum { HAK_VERSION_BYTES = 16 };
extern HAK_HIDDEN const char hak_version_text[HAK_VERSION_BYTES];

/* Makes the page. Call at start, before there are threads. */
void hak_stats_page_start(const char *path);

/* Write the page within its share of the time: at a distance from the last write, or (soon) at once. Call only while
 * there is a page. */
void hak_stats_page_write(void);
void hak_stats_page_write_soon(void);

/* Writes the page in a slow path, if there is a page and the distance is over. No lock held. */
static inline void hak_stats_page_show(void) {
  if (HAK_UNLIKELY(hak_load(&g_account.shows) != 0)) hak_stats_page_write();
}

/* Writes the page at once after a large change, as the next slow path may be seconds away. No lock held. */
static inline void hak_stats_page_changed(void) {
  if (HAK_UNLIKELY(hak_load(&g_account.shows) != 0)) hak_stats_page_write_soon();
}

#endif
