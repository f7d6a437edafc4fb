/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* peak_limit.c: free memory does not raise the peak.
 *
 * what      See peak_limit.h.
 */
#include "reclaim/peak_limit.h"

#include "blocks/big.h"
#include "observe/stats_page.h"
#include "os/os.h"
#include "reclaim/release.h"
#include "reclaim/release_all.h"
#include "retain/rent.h"
#include "runs/runs.h"

struct hak_peak g_peak;

/* Releases up to `excess` of the `held` bytes; keep(n) releases down to n bytes. Returns the excess not released. */
static uint64_t lower(size_t (*keep)(size_t), uint64_t held, uint64_t excess) {
  if (excess == 0 || held == 0) return excess;
  uint64_t gone = keep(hak_max(held > excess ? held - excess : 0, hak_load(&g_hold_floor)));
  return gone < excess ? excess - gone : 0;
}

/* The part of `excess` that may be released now. A page released in vain is fetched again, which costs as much as its
 * rent for T (retain/rent.h). So a program pays for PER_RENT within T, or LEAST_MS if that is longer, and once for
 * AT_ONCE: it keeps the memory that it uses again. */
static uint64_t allowed(uint64_t excess) {
  enum { AT_ONCE = 32 << 20, PER_RENT = 8 << 20, LEAST_MS = 64 };
  uint64_t now = hak_os_now_ms(), rent = hak_max(hak_rent_ms(hak_os_page_bytes()), LEAST_MS);
  uint64_t since = hak_min(hak_less(now, hak_load(&g_peak.given_ms)), AT_ONCE / PER_RENT * rent);
  uint64_t paid = since * PER_RENT / rent, debt = hak_less(hak_load(&g_peak.given_bytes), paid);
  uint64_t may = hak_min(excess, hak_less(AT_ONCE, debt));
  hak_store(&g_peak.given_bytes, debt + may);
  if (paid != 0) hak_store(&g_peak.given_ms, now);
  return may;
}

static void lower_to(uint64_t peak, uint64_t now) {
  uint64_t kept = hak_load(&g_footprint.big_cached), dirty = hak_load(&g_footprint.dirty);
  uint64_t unused = kept + hak_less(dirty, hak_load(&g_footprint.ahead));
  uint64_t may = hak_rent_release_enabled() ? allowed(hak_min(now - peak, unused)) : 0;
  uint64_t left = lower(hak_runs_purge, dirty, lower(hak_big_trim, kept, may));
  uint64_t given = may - left;
  hak_store(&g_peak.bytes, now - given + given / HAK_PEAK_CREEP);
}

void hak_peak_lower(void) {
  if (hak_memory_limit_is_due(hak_footprint()) && hak_memory_limit_ask(hak_footprint())) hak_release_all(0);
  uint64_t peak = hak_load(&g_peak.bytes), now = hak_footprint();
  if (now > peak + HAK_PEAK_STEP) lower_to(peak, now);
  peak = hak_load(&g_peak.bytes) + HAK_PEAK_STEP;
  hak_store(&g_peak.check_at, hak_min(peak, hak_load(&g_memory_limit.ask_at)));
  hak_stats_page_changed();
}
