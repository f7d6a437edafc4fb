/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* due.c: work due at the head of a slow path.
 *
 * what      See due.h.
 */
#include "entry/due.h"

#include "cache/magazine.h"
#include "learn/learn.h"
#include "observe/asked.h"
#include "observe/stats_page.h"
#include "reclaim/drain_idle.h"
#include "reclaim/trigger.h"

static HAK_NOINLINE void repair_or_reclaim(void) {
  if (HAK_UNLIKELY(hak_after_fork_some())) hak_account_request();
  else if (hak_account_is_requested()) hak_trigger_reclaim();
}

static HAK_NOINLINE void drain_or_heed(void) {
  if (hak_load(&g_account.asked) != 0) hak_asked_heed();
  if ((hak_load(&g_account.due) & HAK_DUE_DRAIN) == 0) return;
  hak_store(&g_account.due, (uint8_t)(hak_load(&g_account.due) & ~HAK_DUE_DRAIN));
  hak_drain_ask(hak_load(&g_budget.bytes));
}

void hak_due_work(size_t n) {
  if (HAK_UNLIKELY((hak_load(&g_account.work) & HAK_DUE_SELDOM) != 0)) drain_or_heed();
  if (hak_after_fork_is_due() || hak_account_is_requested()) repair_or_reclaim();
  if (hak_load(&g_account.counts) != 0) hak_learn_passed(n);
  hak_stats_page_show();
}
