/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* peak_limit.h: free memory does not raise the peak.
 *
 * what      A rule across big blocks and runs: when more bytes may hold pages than ever before, cached big blocks and
 *           dirty runs are released first. The rate is bounded: within T (retain/rent.h) 2,048 pages, which at
 *           `balanced` take less than a percent of the time to fetch again. Where sizes come and go, free memory raises
 *           the peak in small steps, until nothing needs to be released.
 *
 *               footprint                 ____/~~~~\____/~~  <= peak, soft limit and control group allowing
 *
 *           Each kind alone stays within the most of its last T (retain/watermark.h). This rule is for the sum, which
 *           may reach a new high while no kind does.
 * owner     g_peak (in peak_limit.c).
 * locks     g_big.lock and g_runs.lock, inside the calls of blocks and runs.
 * hot path  No: one comparison per slow path that took memory.
 * not here  Limits set from outside: retain/memory_limit.h.
 */
#ifndef HAK_RECLAIM_PEAK_LIMIT_H
#define HAK_RECLAIM_PEAK_LIMIT_H

#include <stdint.h>

#include "retain/footprint.h"
#include "retain/memory_limit.h"

/* STEP: growth of the footprint between two checks [bytes]. CREEP: the peak rises by 1/CREEP of the bytes released, so
 * that a program that needs this memory again and again gets to keep it. */
enum { HAK_PEAK_STEP = 256 << 10, HAK_PEAK_CREEP = 8 };

struct hak_peak {
  uint64_t check_at;    /* the footprint above which the next check runs */
  uint64_t bytes;       /* the peak: the most that could not be avoided */
  uint64_t given_bytes; /* released lately: a leaking bucket */
  uint64_t given_ms;    /* when the bucket last leaked */
};
extern HAK_HIDDEN struct hak_peak g_peak;

/* Releases free memory that would raise the peak or exceed a limit. */
void hak_peak_lower(void);

/* Called after memory was taken. */
static inline void hak_peak_check(void) {
  bool high = hak_footprint() > hak_load(&g_peak.check_at);
  if (HAK_UNLIKELY(high || hak_memory_limit_is_due(0))) hak_peak_lower();
}

#endif
