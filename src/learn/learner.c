/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* learner.c: windows of slow calls.
 *
 * what      See learner.h.
 * owner     g_windows.
 */
#include "learn/learner.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "base/time_budget.h"
#include "cache/account.h"
#include "cache/context.h"
#include "learn/caches.h"
#include "learn/extra_class.h"
#include "learn/tune.h"
#include "os/claim.h"
#include "os/os.h"
#include "os/thread.h"
#include "reclaim/release.h"
#include "tables/settings.h"

enum {
  WINDOW_SLOW_CALLS = 256,
  BATCH = 16 /* slow calls that a thread counts by itself */
};

static HAK_RARE struct {
  struct hak_claim claim; /* for all members but slow_calls and waits */
  uint64_t slow_calls;    /* in this window */
  /* slow_calls when an attempt to end the window came too early: the next attempt is a window's slow calls later */
  uint64_t waits;
  uint64_t begun_ns;
  uint64_t least_ns; /* the window's least length; an end time might never come after the clock is set back */
  struct hak_time_budget budget; /* of ending a window; a pause of the process counts little */
} g_windows;

bool hak_learner_acts(void) { return hak_setting(mode) == HAK_MODE_EVOLVING; }

static bool wants_windows(void) {
  uint64_t mode = hak_setting(mode);
  bool any = hak_setting(learn_threshold) | hak_setting(learn_slack) | hak_setting(learn_place) |
             hak_setting(learn_caches) | hak_setting(learn_class) | hak_setting(learn_kinds);
  return any && (mode == HAK_MODE_SHADOW || mode == HAK_MODE_EVOLVING);
}

void hak_learner_heed(void) {
  bool windows = wants_windows();
  hak_account_count_paths(windows);
  hak_caches_heed();
  if (windows && hak_learner_acts()) hak_tune_go_on(); /* the next window's end publishes arms */
  else hak_tune_stop();
}

bool hak_learner_hold(void) { return hak_claim_wait(&g_windows.claim); }

void hak_learner_let_go(void) { hak_claim_drop(&g_windows.claim); }

static void end_window(uint64_t now_ns) {
  struct hak_learner_window window = {now_ns, now_ns - g_windows.begun_ns, hak_load(&g_windows.slow_calls)};
  hak_store(&g_windows.slow_calls, 0);
  hak_store(&g_windows.waits, 0);
  g_windows.begun_ns = now_ns;
  if (hak_setting(learn_kinds) != 0) hak_release_note();
  hak_caches_learn(&window);
  hak_tune_window(&window);
}

/* Ends the window if long enough. The first window has no beginning: begun_ns is 0. */
static HAK_NOINLINE void try_to_end_window(void) {
  if (!hak_claim_take(&g_windows.claim)) return;
  uint64_t now_ns = hak_os_now_ns();
  if (now_ns - g_windows.begun_ns >= g_windows.least_ns) {
    end_window(now_ns);
    hak_time_budget_time(&g_windows.budget, hak_os_now_ns() - now_ns);
    g_windows.least_ns = HAK_BUDGET_SHARE * hak_time_budget_note_ns(&g_windows.budget);
  } else {
    hak_store(&g_windows.waits, hak_load(&g_windows.slow_calls));
  }
  hak_claim_drop(&g_windows.claim);
}

static HAK_NOINLINE void sample(struct hak_context *x, size_t n) {
  if (!hak_claim_take(&g_windows.claim)) return;
  hak_extra_class_note(x, n);
  hak_claim_drop(&g_windows.claim);
}

/* The only place where a thread takes a new table of classes. */
static HAK_NOINLINE void note_request(struct hak_context *x, size_t n) {
  hak_extra_class_heed(x);
  if (hak_extra_class_samples(x, n)) sample(x, n);
}

static HAK_NOINLINE void add_slow_calls(unsigned n) {
  uint64_t slow_calls = hak_add(&g_windows.slow_calls, n);
  if (HAK_UNLIKELY(slow_calls >= hak_load(&g_windows.waits) + WINDOW_SLOW_CALLS - BATCH)) try_to_end_window();
}

void hak_learner_passed(size_t n) {
  struct hak_context *x = hak_context;
  if (HAK_UNLIKELY(x == &g_empty_context)) return add_slow_calls(1);
  if (n - 1 < HAK_SLAB_MAX) note_request(x, n); /* false for 0 */
  if (HAK_UNLIKELY(++x->passed % BATCH == 0)) add_slow_calls(BATCH);
}
