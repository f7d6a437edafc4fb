/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* peak_limit.h: memory kept free does not raise the peak.
 *
 * what      A rule between boxes: when more may hold pages than ever before, what is kept free (big blocks, dirty runs)
 *           goes back first; but no more per millisecond than costs a few percent of the time to fault in again: where
 *           sizes come and go, memory kept free raises the peak in small steps until none has to go back.
 *
 *               footprint                 ____/~~~~\____/~~  <= peak, soft limit and control group allowing
 *
 *           Each kind alone keeps to the most of its own last T (retain/watermark.h); this is for their sum, which may
 *           stand higher than ever while none does.
 * owner     g_peak (in peak_limit.c).
 * locks     Only the boxes', inside their calls.
 * hot path  No; one comparison per slow door that took memory.
 * not here  Limits from outside: memory_limit.h.
 */
#ifndef HAK_RECLAIM_PEAK_LIMIT_H
#define HAK_RECLAIM_PEAK_LIMIT_H

#include <stdint.h>

#include "retain/footprint.h"
#include "retain/memory_limit.h"

/* By how much the footprint grows between two checks; and the share of what goes back by which the peak rises all the
 * same, so that a program that needs it again and again gets to keep it. */
enum { HAK_PEAK_STEP = 256 << 10, HAK_PEAK_CREEP = 8 };

struct hak_peak {
  uint64_t check_at;    /* a footprint above this is checked */
  uint64_t bytes;       /* the most that could not be avoided */
  uint64_t given_bytes; /* back of late, a leaking bucket */
  uint64_t given_ms;    /* when it last leaked */
};
extern HAK_HIDDEN struct hak_peak g_peak;

/* Gives back what is kept free and would raise the peak, or pass a limit. */
void hak_peak_lower(void);

/* After memory was taken. */
static inline void hak_peak_check(void) {
  bool high = hak_footprint() > hak_load(&g_peak.check_at);
  if (HAK_UNLIKELY(high || hak_memory_limit_is_due(0))) hak_peak_lower();
}

#endif
