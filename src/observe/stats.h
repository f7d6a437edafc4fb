/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stats.h: the sums of hak_stats.
 *
 * what      Bytes handed out, cached and mapped, by kind of memory.
 * locks     hak_stats_read takes the locks of src/runs and src/blocks, each by itself: each sum is exact, but sums are
 *           read at slightly different times. hak_stats_handed_out takes none.
 * not here  The page that other processes read: stats_page.h.
 */
#ifndef HAK_OBSERVE_STATS_H
#define HAK_OBSERVE_STATS_H

#include "hakmem/hakmem.h"

/* [bytes] Blocks handed out, live or cached: what is in use and cached, of hak_stats_read. */
uint64_t hak_stats_handed_out(void);

/* Fills all fields but version and size. Call in a slow path. */
void hak_stats_read(struct hak_stats *s);

#endif
