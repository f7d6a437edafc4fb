/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* learn.c: the interface of learning.
 *
 * what      See learn.h.
 */
#include "learn/learn.h"

#include "base/atomic.h"
#include "learn/big_keep.h"
#include "learn/caches.h"
#include "learn/decisions.h"
#include "learn/kinds.h"
#include "learn/learner.h"
#include "learn/past.h"
#include "learn/policy.h"
#include "learn/tune.h"
#include "os/seal.h"
#include "tables/learning.h"

static const struct hak_learning learning = {
    .path_begins = hak_caches_begin,
    .path_ends = hak_caches_passed,
    .big_taken = hak_big_keep_taken,
    .big_freed = hak_big_keep_freed,
    .big_cut = hak_big_keep_cut,
    .kind_begins = hak_kinds_begin,
    .kind_noted = hak_kinds_noted,
    .looked = hak_past_looked,
};

/* Sets g_learning for good: the lower layers check the mode. */
static void take_seat(void) {
  enum hak_seal_state seal;
  if (hak_setting(mode) <= HAK_MODE_BASELINE || (seal = hak_unseal()) == HAK_SEAL_SHUT) return;
  hak_store_release(&g_learning, &learning);
  hak_reseal(seal);
}

void hak_learn_start(void) {
  const char *log = g_settings.learn_log;
  if (g_settings.decisions_file != NULL) hak_decisions_to_file(g_settings.decisions_file);
  if (log != NULL && hak_journal_to_file(log)) hak_tune_log_to_file(log);
  take_seat();
  if (hak_setting(mode) > HAK_MODE_BASELINE) hak_learner_heed(); /* else do not touch the learner's page */
}

int hak_learn_heed(void) {
  take_seat();
  hak_learner_heed();
  hak_past_heed();
  return 0;
}

void hak_learn_passed(size_t n) { hak_learner_passed(n); }
void hak_learn_start_policy(void) { hak_policy_start(); }
void hak_learn_finish_policy(void) { hak_policy_finish(); }
int hak_learn_save_policy(const char *path) { return hak_policy_save_now(path); }
int hak_learn_load_policy(const char *path) { return hak_policy_load_now(path); }
