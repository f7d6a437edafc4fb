/* helper.c: the thread that gives memory back while the program idles.
 *
 * what      See helper.h.
 * owner     g_helper.
 * locks     None.
 * orders    See helper.h.
 * hot path  No.
 * failure   See helper.h.
 * not here  Sleeping and waking: os/pause.h.
 */
#include "front/helper.h"

#include "core/counters.h"
#include "core/knobs.h"
#include "front/ageing.h"
#include "front/caretaker.h"
#include "front/registry.h"
#include "os/fork.h"
#include "os/os.h"
#include "os/self.h"

static struct {
  uint64_t running; /* 1 + the generation of forks it lives in; 0: there is none */
  uint32_t bell;
} g_helper;

static uint64_t here(void) { return 1 + hak_load(&g_fork.generation); }

/* Not when it was switched off, and not as the last thread: the process would never end. */
static bool is_wanted(void) { return hak_knob(helper) != 0 && hak_registry_count() != 0; }

/* Sleeps until the bell rings or the time is over; without an end while the caretaker counts what is freed. */
static void wait_for_work(uint32_t seen, uint64_t ms) {
  if (ms == UINT64_MAX) hak_caretaker_watch(false);
  hak_os_wait(&g_helper.bell, seen, ms);
  hak_caretaker_watch(true);
}

/* Is the program single-threaded again? A thread that came just now found a helper running and started none. */
static bool may_end(void) {
  enum { WITH_THIS = 2 };
  if (hak_os_threads() != WITH_THIS) return false;
  uint64_t none = 0;
  hak_store_release(&g_helper.running, 0);
  hak_fence();
  return hak_os_threads() == WITH_THIS || !hak_cas_acq_rel(&g_helper.running, &none, here());
}

static void serve(void) {
  while (is_wanted()) {
    uint32_t seen = hak_load_acquire(&g_helper.bell);
    uint64_t ms = hak_ageing_pass();
    if (ms == UINT64_MAX && may_end()) return;
    wait_for_work(seen, ms);
  }
  hak_store_release(&g_helper.running, 0);
}

static void run(void) {
  hak_self.inside = 1; /* nothing here allocates */
  hak_caretaker_watch(true);
  serve();
  hak_caretaker_watch(false);
  hak_self.inside = 0; /* as the last thread it runs the program's exit handlers */
}

void hak_helper_start(hak_os_create_fn *create) {
  uint64_t seen = hak_load(&g_helper.running), mine = here();
  if (seen == mine || hak_knob(helper) == 0) return;
  if (!hak_cas_acq_rel(&g_helper.running, &seen, mine)) return;
  if (hak_os_thread_start(create, run)) hak_count(HAK_COUNTER_helper_starts, 1);
  else hak_store_release(&g_helper.running, 0);
}

bool hak_helper_ring(void) {
  if (hak_load_acquire(&g_helper.running) != here()) return false;
  hak_add(&g_helper.bell, 1);
  hak_os_wake(&g_helper.bell);
  return true;
}

/* While it is awake it comes by anyway. */
void hak_helper_thread_ended(void) {
  if (!hak_load(&g_caretaker.watched) || hak_registry_count() == 0) hak_helper_ring();
}
