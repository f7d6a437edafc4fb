/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* after_fork.c: repair in a fork's child.
 *
 * what      See after_fork.h.
 */
#include "cache/after_fork.h"

#include "blocks/big.h"
#include "blocks/slab.h"
#include "cache/account.h"
#include "cache/magazine.h"
#include "cache/registry.h"
#include "os/seal.h"
#include "runs/runs.h"
#include "tables/counters.h"

struct hak_after_fork g_after_fork;

/* True if the context's thread existed before the fork and is not the thread that called fork. */
static bool owner_vanished(const struct hak_context *x) {
  return hak_load_acquire(&x->in_use) && x->generation != hak_load(&g_fork.generation) &&
         (x->token != g_fork.survivor || x->generation < g_fork.survivor_generation);
}

/* Empties contexts of vanished threads, a bounded number. The thread that takes the cursor works alone; a concurrent
 * caller returns at once. False: no context is left, or another thread has the cursor. */
static bool bury_some(void) {
  enum { CONTEXTS = 64, BURIALS = 8 };
  struct hak_fault dropped;
  bool repaired = hak_load_acquire(&g_after_fork.generation) == hak_load(&g_fork.generation);
  if (HAK_LIKELY(hak_load(&g_after_fork.to_bury) == NULL) || !repaired) return false; /* the parent's cursor */
  struct hak_context *x = __atomic_exchange_n(&g_after_fork.to_bury, NULL, __ATOMIC_ACQUIRE);
  for (unsigned seen = 0, buried = 0; x != NULL && seen < CONTEXTS && buried < BURIALS; seen++) {
    bool vanished = owner_vanished(x);
    if (vanished) hak_magazine_bury(x, &dropped);
    buried += vanished;
    x = hak_registry_next(x);
  }
  hak_store_release(&g_after_fork.to_bury, x);
  return x != NULL;
}

/* The first thread to arrive repairs; concurrent callers return. */
static void repair(void) {
  if (hak_fork_happened()) hak_fork_notice();
  uint64_t now = hak_load(&g_fork.generation), seen = hak_load(&g_after_fork.generation);
  if (seen == now || !hak_fork_know_survivor()) return;
  if (!hak_cas_acq_rel(&g_after_fork.generation, &seen, now)) return;
  hak_count(HAK_COUNTER_fork_repairs, 1);
  if (HAK_SECURE) hak_seal_after_fork();
  hak_account_watch(false);
  hak_account_rest();
  hak_big_forget_claims();
  hak_runs_forget_detached();
  hak_store_release(&g_after_fork.to_bury, hak_registry_first());
}

bool hak_after_fork_some(void) {
  repair();
  return bury_some();
}

void hak_after_fork_all(void) {
  while (bury_some()) {
  }
}
