/* caretaker.c: what concerns all threads and boxes at once.
 *
 * what      The repair of what a fork cut, and the balance of memory kept free.
 *
 *               child: threads gone -> their magazines: bit set? drop : put back -> context free for the next thread
 *
 * owner     g_caretaker.
 * locks     Only the boxes', inside their calls.
 * orders    See caretaker.h.
 * hot path  No.
 * failure   None.
 * not here  What grows old, and how: ageing.c. Limits from outside: pressure.c.
 */
#include "front/caretaker.h"

#include "box/big.h"
#include "box/slab.h"
#include "core/counters.h"
#include "front/ageing.h"
#include "front/helper.h"
#include "front/pressure.h"
#include "front/registry.h"
#include "front/thread.h"
#include "os/os.h"
#include "span/span.h"

struct hak_caretaker g_caretaker;

/* ---- fork ---- */

/* Did this context's thread exist before the fork, without being the one that called it? */
static bool owner_vanished(const struct hak_context *x) {
  return hak_load_acquire(&x->in_use) && x->generation != hak_load(&g_fork.generation) &&
         (x->token != g_fork.survivor || x->generation < g_fork.born);
}

/* Empties the contexts of vanished threads, a few at a time: there may be thousands, and most children soon execute
 * another program. Whoever has the cursor does it. False: none is left. */
static bool bury_some(void) {
  enum { CONTEXTS = 64, BURIALS = 8 };
  struct hak_fault dropped;
  bool repaired = hak_load_acquire(&g_caretaker.repaired_generation) == hak_load(&g_fork.generation);
  if (HAK_LIKELY(hak_load(&g_caretaker.to_bury) == NULL) || !repaired) return false; /* the parent's cursor */
  struct hak_context *x = __atomic_exchange_n(&g_caretaker.to_bury, NULL, __ATOMIC_ACQUIRE);
  for (unsigned seen = 0, buried = 0; x != NULL && seen < CONTEXTS && buried < BURIALS; seen++) {
    bool vanished = owner_vanished(x);
    if (vanished) hak_thread_bury(x, &dropped);
    buried += vanished;
    x = hak_registry_next(x);
  }
  hak_store_release(&g_caretaker.to_bury, x);
  return x != NULL;
}

void hak_caretaker_bury_all(void) {
  while (bury_some()) {
  }
}

/* The first thread to come repairs; others go on, since every lock repairs itself. */
static void repair_after_fork(void) {
  if (hak_fork_happened()) hak_fork_notice();
  uint64_t now = hak_load(&g_fork.generation), seen = hak_load(&g_caretaker.repaired_generation);
  if (seen == now || !hak_fork_know_survivor()) return;
  if (!hak_cas_acq_rel(&g_caretaker.repaired_generation, &seen, now)) return;
  hak_count(HAK_COUNTER_fork_repairs, 1);
  hak_caretaker_watch(false);
  hak_big_forget_claims();
  hak_span_forget_detached();
  hak_helper_forget_holds();
  hak_store_release(&g_caretaker.to_bury, hak_registry_first());
}

/* ---- balance ---- */

/* Gives up to `excess` bytes of `held` ones back by keeping the rest; what is still too much. */
static uint64_t lower(size_t (*keep)(size_t), uint64_t held, uint64_t excess) {
  if (excess == 0 || held == 0) return excess;
  uint64_t gone = keep(held > excess ? held - excess : 0);
  return gone < excess ? excess - gone : 0;
}

/* How much of `excess` may be given back now. Bytes given back in vain cost their page faults: a program whose
 * sizes come and go pays at most GIVEN_PER_MS for it, and then keeps what it uses again. */
static uint64_t allowed(uint64_t excess) {
  enum { GIVEN_PER_MS = 128 << 10, GIVEN_AT_ONCE = 8 << 20 };
  uint64_t now = hak_os_now_ms(), since = now - hak_load(&g_caretaker.given_ms);
  uint64_t paid = hak_min(since, GIVEN_AT_ONCE) * GIVEN_PER_MS, debt = hak_load(&g_caretaker.given_bytes);
  debt = debt > paid ? debt - paid : 0;
  uint64_t may = debt < GIVEN_AT_ONCE ? hak_min(excess, GIVEN_AT_ONCE - debt) : 0;
  hak_store(&g_caretaker.given_bytes, debt + may);
  hak_store(&g_caretaker.given_ms, now);
  return may;
}

static void lower_peak(uint64_t now, uint64_t peak) {
  uint64_t kept = hak_load(&g_footprint.kept), dirty = hak_load(&g_footprint.dirty);
  uint64_t may = hak_ageing_pays() ? allowed(hak_min(now - peak, kept + dirty)) : 0;
  uint64_t left = lower(hak_span_purge, dirty, lower(hak_big_trim, kept, may));
  uint64_t given = may - left;
  hak_store(&g_caretaker.peak_bytes, now - given + given / HAK_PEAK_CREEP);
}

void hak_caretaker_balance(void) {
  if (hak_pressure_is_due(hak_footprint()) && hak_pressure_ask(hak_footprint())) hak_ageing_release(0);
  uint64_t peak = hak_load(&g_caretaker.peak_bytes);
  if (hak_footprint() > peak + HAK_PEAK_STEP) lower_peak(hak_footprint(), peak);
  peak = hak_load(&g_caretaker.peak_bytes) + HAK_PEAK_STEP;
  hak_store(&g_caretaker.look_at, hak_min(peak, hak_load(&g_pressure.ask_at)));
}

/* ---- ageing ---- */

static void look_again_after(int64_t net_bytes) {
  hak_store(&g_caretaker.freed_bytes, 0);
  hak_store(&g_caretaker.net_bytes, 0);
  hak_store(&g_caretaker.due_bytes, net_bytes);
  hak_store(&g_caretaker.due, false);
}

void hak_caretaker_watch(bool awake) {
  look_again_after(HAK_LOOK_SOON);
  hak_store(&g_caretaker.watched, awake);
}

/* Bytes that a helper might give back. */
static uint64_t idle_bytes(void) {
  uint64_t slabs = hak_slab_free_bytes(), empty = hak_load(&g_footprint.empty);
  return hak_load(&g_footprint.dirty) + hak_load(&g_footprint.kept) + (slabs > empty ? slabs - empty : 0);
}

void hak_caretaker_look(void) {
  look_again_after(HAK_LOOK_SOON);
  if (hak_ageing_pays() && hak_helper_serves(idle_bytes())) return;
  if (hak_pressure_look()) hak_ageing_release(0);
  look_again_after((int64_t)hak_ageing_step());
}

void hak_caretaker_freed_big(size_t bytes) {
  if (hak_load(&g_caretaker.watched)) return;
  hak_caretaker_freed_run(bytes);
  if (hak_load(&g_footprint.kept) >= HAK_HELPER_WORTH && hak_registry_count() > 1) hak_caretaker_look();
}

bool hak_caretaker_rescue(void) {
  hak_count(HAK_COUNTER_rescues, 1);
  hak_caretaker_bury_all();
  size_t gone = hak_ageing_release(0);
  return hak_span_unmap() + gone != 0;
}

void hak_caretaker_act(void) {
  repair_after_fork();
  if (HAK_UNLIKELY(bury_some())) hak_store(&g_caretaker.due, true);
  else if (hak_load(&g_caretaker.due)) hak_caretaker_look();
}
