/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* calls.c: which observers see every call.
 *
 * what      The word g_calls and its changes; see calls.h.
 * owner     g_calls.
 */
#include "tables/calls.h"

#include "tables/settings.h"

unsigned g_calls;

bool hak_calls_settle(void) {
  unsigned unknown = HAK_CALLS_UNKNOWN;
  return hak_cas_acquire(&g_calls, &unknown, HAK_CALLS_UNOBSERVED);
}

static unsigned as_set(unsigned calls) {
  calls &= ~(unsigned)(HAK_CALLS_COUNTED | HAK_CALLS_SAMPLED);
  if (hak_setting(count_calls) != 0) calls |= HAK_CALLS_COUNTED;
  if (hak_setting(checks) != 0) calls |= HAK_CALLS_CHECKED;
  bool sampled = hak_setting(profile) != 0 || hak_setting(guard_bytes) != 0;
  return sampled ? calls | HAK_CALLS_SAMPLED | HAK_CALLS_MARKED : calls;
}

/* Repeats until the word agrees with settings that another thread may change meanwhile. */
void hak_calls_heed(void) {
  unsigned seen = hak_load(&g_calls);
  while (seen != HAK_CALLS_UNKNOWN && as_set(seen) != seen) {
    hak_cas_acquire(&g_calls, &seen, as_set(seen));
    hak_fence();
    seen = hak_load(&g_calls);
  }
}

void hak_calls_trace(void) { __atomic_fetch_or(&g_calls, HAK_CALLS_TRACED, __ATOMIC_RELAXED); }
