/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* account.c: bytes freed since the last reclaim.
 *
 * what      See account.h.
 */
#include "cache/account.h"

#include "os/allowed.h"
#include "os/os.h"
#include "os/thread.h"
#include "retain/rent.h"
#include "tables/settings.h"

struct hak_account g_account;

void hak_account_count_paths(bool on) {
  if (on == (hak_load(&g_account.counts) != 0)) return;
  uint8_t due = hak_load(&g_account.due) & HAK_DUE_RECLAIM;
  hak_store(&g_account.counts, (uint8_t)(on ? HAK_DUE_COUNT : 0));
  hak_store(&g_account.due, (uint8_t)(due | hak_account_always()));
}

void hak_account_show(void) {
  hak_store(&g_account.shows, (uint8_t)HAK_DUE_SHOW);
  hak_store(&g_account.due, (uint8_t)(hak_load(&g_account.due) | HAK_DUE_SHOW));
}

void hak_account_begin(int64_t net_bytes) {
  hak_store(&g_account.freed_bytes, 0);
  hak_store(&g_account.net_bytes, 0);
  hak_store(&g_account.due_bytes, net_bytes);
  hak_store(&g_account.due, hak_account_always());
}

void hak_account_watch(bool awake) {
  hak_account_begin(HAK_RECLAIM_SOON);
  hak_store(&g_account.watched, awake);
}

static bool was_lately(uint64_t then_ms) {
  enum { PATIENCE_MS = 20 }; /* the checks of an attempt cost a tenth of a start */
  return then_ms != 0 && hak_os_now_ms() - then_ms < PATIENCE_MS;
}

bool hak_account_was_refused(void) {
  bool lone = hak_registry_count() < 2 && was_lately(hak_load(&g_account.lone_ms));
  return lone || was_lately(hak_load(&g_account.refused_ms));
}

bool hak_account_may_have_background(void) {
  bool any = hak_load(&g_allowed) && hak_setting(background_thread) != 0 && hak_rent_is_due();
  return any && (hak_registry_count() > 1 || !hak_account_was_refused());
}
