/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cost.c: the costs of a kernel call, a page and a moved page.
 *
 * what      See cost.h.
 * owner     g_cost.
 */
#include "retain/cost.h"

#include "os/os.h"
#include "tables/hold.h"

enum { TRIALS = 3, MOVE_CALLS = 100 };

HAK_TABLE struct hak_cost g_cost;

/* 0: the trial could not measure this cost. A trial that fails as a whole ends the measurement, as the success of a
 * further trial may be due to an interruption. */
static void keep_least(uint64_t *least, uint64_t ns) {
  if (ns != 0) *least = hak_min(*least, ns);
}

static struct hak_os_costs least_of_trials(void) {
  struct hak_os_costs least = {UINT64_MAX, UINT64_MAX, UINT64_MAX}, trial;
  for (int n = 0; n < TRIALS; n++) {
    if (!hak_os_measure(&trial)) return (struct hak_os_costs){UINT64_MAX, UINT64_MAX, UINT64_MAX};
    keep_least(&least.call_ns, trial.call_ns);
    keep_least(&least.page_ns, trial.page_ns);
    keep_least(&least.move_ns, trial.move_ns);
  }
  return least;
}

/* Rounded up, so that a cost of 1 ns can grow. */
static void learn_cost(uint64_t *known, uint64_t ns) {
  uint64_t old = hak_load(known);
  if (old == 0) hak_store(known, ns);
  else if (ns != 0) hak_store(known, (3 * old + hak_min(ns, 2 * old) + 3) / 4);
}

static void learn_first(uint64_t *known, uint64_t least) {
  if (least != UINT64_MAX) hak_store(known, least);
}

static void measure_first(void) {
  struct hak_os_costs least = least_of_trials();
  learn_first(&g_cost.measured.call_ns, least.call_ns);
  learn_first(&g_cost.measured.page_ns, least.page_ns);
  learn_first(&g_cost.measured.move_ns, least.move_ns);
}

static void measure_again(void) {
  struct hak_os_costs trial;
  if (!hak_os_measure(&trial)) return;
  learn_cost(&g_cost.measured.call_ns, trial.call_ns);
  learn_cost(&g_cost.measured.page_ns, trial.page_ns);
  learn_cost(&g_cost.measured.move_ns, trial.move_ns);
}

static bool is_set_by_hand(void) { return hak_setting(cost_call) && hak_setting(cost_page) && hak_setting(cost_move); }

/* due_ms moves on first, so that a thread that comes meanwhile does not measure, too. A trial touches new pages: none
 * where the program asked for no faults, and nothing is decided by costs. */
void hak_cost_measure(uint64_t now_ms) {
  bool first = hak_load(&g_cost.measured.page_ns) == 0;
  hak_store(&g_cost.due_ms, now_ms + HAK_COST_AGAIN_MS);
  if (is_set_by_hand() || hak_setting(mode) == HAK_MODE_OFF || hak_holds_all()) return;
  if (first) measure_first();
  else measure_again();
}

void hak_cost_measure_last(uint64_t now_ms) {
  if (hak_load(&g_cost.measured.page_ns) == 0) hak_cost_measure(now_ms);
  hak_store(&g_cost.due_ms, UINT64_MAX);
}

/* A move takes three kernel calls, and tears memory into kernel mappings and pieces that fit fewer blocks later: in all
 * it costs as much as MOVE_CALLS calls (lab/docs/kept-memory.md). */
bool hak_cost_moves(size_t bytes) {
  uint64_t page = hak_cost_page(), move = hak_cost_move(), pages = bytes / hak_os_page_bytes();
  return page > move && pages * (page - move) >= MOVE_CALLS * hak_cost_call();
}
