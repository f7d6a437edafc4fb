/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* huge.c: what a huge page costs here and now.
 *
 * what      See huge.h.
 * owner     g_huge.
 */
#include "retain/huge.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "os/os.h"
#include "retain/cost.h"
#include "retain/footprint.h"
#include "retain/memory_limit.h"
#include "retain/rent.h"
#include "tables/counters.h"
#include "tables/hold.h"
#include "tables/settings.h"

enum {
  DEAR_PART = 8,    /* dear: costs more than all but 1/DEAR_PART of a region's small pages */
  REFUSED_PAGES = 8,
  LONGEST = 4,      /* a page that took longer than so many regions of small pages was interrupted */
  CREDIT = 8,       /* most that the account holds, saved or lost [regions of small pages] */
  STRIKES = 2,
  PATIENCE = 200,   /* pause / time lost */
  PAUSE_MS = 1000   /* the least pause */
};

static HAK_RARE struct {
  uint64_t saved_ns, lost_ns; /* by huge pages, beside small ones: one of the two is 0 */
  uint64_t resumes_ms;  /* no huge page before; 0: no pause */
  uint64_t cost_ns;     /* of the last huge page; 0: none yet */
  uint32_t strikes;     /* dear at a loss, or refused, since all that was lost was saved again */
  uint32_t tables;      /* refused in a row in regions that had small pages: the kernel keeps their page tables */
} g_huge;

/* [ns] Small pages for a whole region. */
static uint64_t small_ns(void) { return hak_os_huge_bytes() / hak_os_page_bytes() * hak_cost_page(); }

/* True if memory is not short, and the user pays for speed; or for memory, where earlier runs say that the heap grows
 * by many regions, so that the rest of one is a small part of it. */
static bool is_affordable(void) {
  bool short_of = hak_load(&g_rent.pressure) != 0 || hak_load(&g_memory_limit.limited) || hak_holds_all();
  bool lean = hak_rent_is_lean() && hak_load(&g_footprint.foreseen) == 0;
  return !short_of && !lean && hak_footprint_allows(hak_os_huge_bytes());
}

static bool is_pausing(void) {
  uint64_t resumes_ms = hak_load(&g_huge.resumes_ms);
  return HAK_UNLIKELY(resumes_ms != 0) && hak_os_now_ms() < resumes_ms;
}

bool hak_huge_pays(bool used) {
  if (hak_setting(huge_pages) != HAK_HUGE_AUTO || !is_affordable()) return false;
  if (used && hak_load(&g_huge.tables) >= STRIKES) return false;
  return !is_pausing();
}

enum hak_huge_state hak_huge_state(void) {
  uint64_t setting = hak_setting(huge_pages);
  if (setting != HAK_HUGE_AUTO) return setting == HAK_HUGE_ON ? HAK_HUGE_ALWAYS : HAK_HUGE_NEVER;
  if (!is_affordable()) return HAK_HUGE_SHORT;
  return is_pausing() ? HAK_HUGE_PAUSES : HAK_HUGE_PAYS;
}

uint64_t hak_huge_cost(void) { return hak_load(&g_huge.cost_ns); }

/* At the second strike begins a pause; after the pause the next strike begins another. */
static HAK_NOINLINE void note_strike(void) {
  enum { NS_PER_MS = 1000000 };
  uint32_t strikes = hak_load(&g_huge.strikes) + 1;
  hak_store(&g_huge.strikes, strikes);
  if (strikes < STRIKES) return;
  uint64_t pause_ms = hak_load(&g_huge.lost_ns) / NS_PER_MS * PATIENCE;
  hak_store(&g_huge.resumes_ms, hak_os_now_ms() + hak_max(pause_ms, PAUSE_MS));
}

static void note_cost(uint64_t took, uint64_t small, bool dear) {
  uint64_t saved = hak_load(&g_huge.saved_ns) + small;
  uint64_t lost = hak_load(&g_huge.lost_ns) + hak_min(took, LONGEST * small);
  hak_store(&g_huge.cost_ns, took);
  hak_store(&g_huge.saved_ns, hak_min(hak_less(saved, lost), CREDIT * small));
  hak_store(&g_huge.lost_ns, hak_min(hak_less(lost, saved), CREDIT * small));
  if (!dear) hak_store(&g_huge.resumes_ms, 0);
  if (saved >= lost) hak_store(&g_huge.strikes, 0);
  else if (dear) note_strike();
}

static enum hak_huge_outcome note_refused(bool used) {
  hak_count(HAK_COUNTER_huge_refused, 1);
  if (used) hak_store(&g_huge.tables, hak_load(&g_huge.tables) + 1);
  else note_strike();
  return HAK_HUGE_REFUSED;
}

enum hak_huge_outcome hak_huge_touch(char *p, bool used) {
  uint64_t begun = hak_os_now_ns();
  *(volatile char *)p = 0;
  uint64_t took = hak_os_now_ns() - begun, small = small_ns();
  if (took < REFUSED_PAGES * hak_cost_page()) return note_refused(used);
  bool dear = took > small - small / DEAR_PART;
  if (used) hak_store(&g_huge.tables, 0);
  hak_count(HAK_COUNTER_huge_pages, 1);
  if (dear) hak_count(HAK_COUNTER_huge_dear, 1);
  note_cost(took, small, dear);
  return dear ? HAK_HUGE_DEAR : HAK_HUGE_CHEAP;
}
