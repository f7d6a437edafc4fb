/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cost.h: the costs of a kernel call, a page and a moved page on this machine.
 *
 * what      Costs in nanoseconds. Measured when free memory is kept for the first time, and then every 10 s while free
 *           memory is kept; a setting replaces each cost.
 *
 *               cost  =  setting, if not 0; else measured; else, before the first measurement, FIRST
 *
 *           A first measurement is the least of three trials. A later measurement is a single trial, which may have
 *           been interrupted: the trial has a weight of 1/4, and is capped at twice the known cost.
 * owner     g_cost.
 * orders    Relaxed: a thread that measures at the same time stores a measurement of equal worth.
 * failure   A cost that a trial cannot measure (no memory; pages that are locked, or cannot be moved) stays as known.
 * not here  The trial: os/costs.h. Uses: retain/rent.h, blocks/big.c.
 */
#ifndef HAK_RETAIN_COST_H
#define HAK_RETAIN_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/costs.h"
#include "os/os.h"
#include "tables/settings.h"

enum { HAK_COST_AGAIN_MS = 10000, HAK_COST_FIRST_CALL = 2000, HAK_COST_FIRST_PAGE = 1000, HAK_COST_FIRST_MOVE = 40 };

struct hak_cost {
  struct hak_os_costs measured; /* 0: not yet */
  uint64_t due_ms; /* time of the next measurement */
};
extern HAK_HIDDEN struct hak_cost g_cost;

/* Measures. No lock held: a measurement takes some kernel calls. */
void hak_cost_measure(uint64_t now_ms);

/* Measures if nothing was measured, and never again. Call before a sandbox that may end the process for a trial's
 * kernel calls. */
void hak_cost_measure_last(uint64_t now_ms);

/* Measures if due. */
static inline void hak_cost_refresh(uint64_t now_ms) {
  if (HAK_UNLIKELY(now_ms >= hak_load(&g_cost.due_ms))) hak_cost_measure(now_ms);
}

static inline uint64_t hak_cost_of(uint64_t setting, uint64_t measured, uint64_t first) {
  return setting != 0 ? setting : measured != 0 ? measured : first;
}
static inline uint64_t hak_cost_call(void) {
  return hak_cost_of(hak_setting(cost_call), hak_load(&g_cost.measured.call_ns), HAK_COST_FIRST_CALL);
}
/* Before a measurement HAK_COST_FIRST_PAGE for each 4 KiB: most of a longer page's cost is to clear the page. */
static inline uint64_t hak_cost_page(void) {
  uint64_t first = (hak_os_page_bytes() >> 12) * HAK_COST_FIRST_PAGE;
  return hak_cost_of(hak_setting(cost_page), hak_load(&g_cost.measured.page_ns), first);
}
static inline uint64_t hak_cost_move(void) {
  return hak_cost_of(hak_setting(cost_move), hak_load(&g_cost.measured.move_ns), HAK_COST_FIRST_MOVE);
}

/* True if moving the pages of `bytes` bytes is cheaper than fetching new pages. */
bool hak_cost_moves(size_t bytes);

#endif
