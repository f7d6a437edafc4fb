/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cost.h: what getting memory costs here, shared by all who pay for it.
 *
 * what      A kernel call, a page and a moved page, in nanoseconds. Measured when free memory is kept for the first
 *           time, and again every 10 s in which some is; a setting takes the place of each.
 *
 *               cost  =  setting, if it is not 0; else measured; else, before that, FIRST
 *
 *           Of a first measurement the least of three trials counts. Later ones are of one trial, which may have been
 *           interrupted: it counts for a quarter, and for no more than twice what was known.
 * owner     g_cost.
 * orders    Relaxed: whoever measures at the same time writes another measurement.
 * failure   What a trial cannot tell (no memory; pages that are locked, or cannot be moved) stays as it was known.
 * not here  The trial: os/costs.h. What follows: retain/rent.h, blocks/big.c.
 */
#ifndef HAK_RETAIN_COST_H
#define HAK_RETAIN_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/costs.h"
#include "tables/settings.h"

enum { HAK_COST_AGAIN_MS = 10000, HAK_COST_FIRST_CALL = 2000, HAK_COST_FIRST_PAGE = 1000, HAK_COST_FIRST_MOVE = 40 };

struct hak_cost {
  struct hak_os_costs measured; /* 0: not yet */
  uint64_t due_ms; /* when it is measured next */
};
extern HAK_HIDDEN struct hak_cost g_cost;

/* Measures. No locks may be held: it takes some kernel calls. */
void hak_cost_measure(uint64_t now_ms);

/* A sandbox comes, which may end the process for a trial's calls: measures if nothing was measured, and never again. */
void hak_cost_measure_last(uint64_t now_ms);

/* Measures, if it is time to. */
static inline void hak_cost_refresh(uint64_t now_ms) {
  if (HAK_UNLIKELY(now_ms >= hak_load(&g_cost.due_ms))) hak_cost_measure(now_ms);
}

static inline uint64_t hak_cost_of(uint64_t setting, uint64_t measured, uint64_t first) {
  return setting != 0 ? setting : measured != 0 ? measured : first;
}
static inline uint64_t hak_cost_call(void) {
  return hak_cost_of(hak_setting(cost_call), hak_load(&g_cost.measured.call_ns), HAK_COST_FIRST_CALL);
}
static inline uint64_t hak_cost_page(void) {
  return hak_cost_of(hak_setting(cost_page), hak_load(&g_cost.measured.page_ns), HAK_COST_FIRST_PAGE);
}
static inline uint64_t hak_cost_move(void) {
  return hak_cost_of(hak_setting(cost_move), hak_load(&g_cost.measured.move_ns), HAK_COST_FIRST_MOVE);
}

/* Is it cheaper to move the pages of so many bytes than to fetch others? */
bool hak_cost_moves(size_t bytes);

#endif
