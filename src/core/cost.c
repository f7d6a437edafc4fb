/* cost.c: what getting memory costs here.
 *
 * what      See cost.h.
 * owner     g_cost, g_compared.
 */
#include "core/cost.h"

#include "os/os.h"

enum {
  TRIALS = 3,
  MOVE_CALLS = 3,
  FAULTS = 16384,   /* 64 MiB: some 35 ms, as the kernel's system time is told in ticks of 1 to 10 */
  COMPARE_MS = 1000 /* between two looks, where they are compared */
};

HAK_TABLE struct hak_cost g_cost;

static HAK_RARE struct {
  struct hak_os_charged charged; /* when it was last compared; no faults: not yet */
  uint64_t cold_percent;         /* of a trial's page that a page takes beyond it: 0 to 100 */
} g_compared;

/* What cannot be told is 0. A trial that tells nothing is believed: another one may have been interrupted. */
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

/* Rounded up: 1 grows, too. */
static void learn(uint64_t *known, uint64_t ns) {
  uint64_t old = hak_load(known);
  if (old == 0) hak_store(known, ns);
  else if (ns != 0) hak_store(known, (3 * old + hak_min(ns, 2 * old) + 3) / 4);
}

static void learn_first(uint64_t *known, uint64_t least) {
  if (least != UINT64_MAX) hak_store(known, least);
}

static bool compares(void) { return hak_knob(mode) == HAK_MODE_EVOLVING; }

/* What a fault took beyond a trial's page, in percent; as it was, where it was other work as well. */
static uint64_t cold_percent(uint64_t fault_ns, uint64_t page_ns) {
  if (fault_ns > 2 * page_ns) return hak_load(&g_compared.cold_percent);
  return (fault_ns - hak_min(fault_ns, page_ns)) * 100 / page_ns;
}

/* The system time by fault since it was last looked at, beside a trial's page. */
static void compare(uint64_t page_ns) {
  struct hak_os_charged now, was = {hak_load(&g_compared.charged.faults), hak_load(&g_compared.charged.system_ns)};
  if (!hak_os_charged(&now) || (was.faults != 0 && now.faults - was.faults < FAULTS)) return;
  hak_store(&g_compared.charged.faults, now.faults);
  hak_store(&g_compared.charged.system_ns, now.system_ns);
  if (was.faults == 0) return;
  uint64_t fault_ns = (now.system_ns - was.system_ns) / (now.faults - was.faults);
  uint64_t old = hak_load(&g_compared.cold_percent), seen = cold_percent(fault_ns, page_ns);
  hak_store(&g_compared.cold_percent, (old + seen + 1) / 2);
}

static void measure_first(void) {
  struct hak_os_costs least = least_of_trials();
  learn_first(&g_cost.measured.call_ns, least.call_ns);
  learn_first(&g_cost.measured.page_ns, least.page_ns);
  learn_first(&g_cost.measured.move_ns, least.move_ns);
  if (compares()) compare(least.page_ns);
}

static void measure_again(void) {
  struct hak_os_costs trial;
  if (!hak_os_measure(&trial)) return;
  if (compares()) compare(trial.page_ns);
  if (compares()) trial.page_ns += trial.page_ns * hak_load(&g_compared.cold_percent) / 100;
  learn(&g_cost.measured.call_ns, trial.call_ns);
  learn(&g_cost.measured.page_ns, trial.page_ns);
  learn(&g_cost.measured.move_ns, trial.move_ns);
}

static bool is_set_by_hand(void) { return hak_knob(cost_call) && hak_knob(cost_page) && hak_knob(cost_move); }

/* Due is moved on first: who comes meanwhile does not measure, too. */
void hak_cost_measure(uint64_t now_ms) {
  bool first = hak_load(&g_cost.measured.page_ns) == 0;
  hak_store(&g_cost.due_ms, now_ms + (compares() ? COMPARE_MS : HAK_COST_AGAIN_MS));
  if (is_set_by_hand() || hak_knob(mode) == HAK_MODE_OFF) return;
  if (first) measure_first();
  else measure_again();
}

void hak_cost_measure_last(uint64_t now_ms) {
  if (hak_load(&g_cost.measured.page_ns) == 0) hak_cost_measure(now_ms);
  hak_store(&g_cost.due_ms, UINT64_MAX);
}

/* A move asks whether the piece is one mapping, moves it, and makes two mappings of what was one. */
bool hak_cost_moves(size_t bytes) {
  uint64_t page = hak_cost_page(), move = hak_cost_move(), pages = bytes / hak_os_page_bytes();
  return page > move && pages * (page - move) >= MOVE_CALLS * hak_cost_call();
}
