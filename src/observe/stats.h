/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stats.h: the sums of hak_stats.
 *
 * what      Bytes handed out, cached and mapped, by kind of memory.
 * locks     Those of runs and blocks, one after the other: each sum is exact, all together are a moment apart.
 * not here  The page that other processes read: stats_page.h.
 */
#ifndef HAK_OBSERVE_STATS_H
#define HAK_OBSERVE_STATS_H

#include "hakmem/hakmem.h"

/* Fills all but version and size. In a slow path. */
void hak_stats_read(struct hak_stats *s);

#endif
