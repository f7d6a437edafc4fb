/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* huge.h: what a huge page costs here and now, and whether to fetch the next one.
 *
 * what      A region of 2 MiB is fetched as one huge page or by small faults. A huge page that the kernel has at hand
 *           costs a fifth of 512 faults; one that the kernel, or a virtual machine's host, must make first costs two to
 *           six times as much as 512 faults. From inside a process nothing but the time tells one from the other. So
 *           each first touch of a huge page is timed:
 *
 *               refused   less than REFUSED_PAGES faults would take: the kernel gave a small page
 *               dear      more than most of a region's faults would take
 *               cheap     between these
 *
 *           An account sums up what huge pages saved or lost, up to what small pages of eight regions cost. While it
 *           is positive dear ones are paid from it. Below zero the second dear or refused one, as one may be an
 *           interruption, begins a pause of 200 times the loss, at least 1 s: 0.5 % of the time is lost at most. So
 *           does the second refused one without a cheap one between. After a pause one begins the next; none is longer
 *           than 200 times what eight regions cost, so that cheap pages are noticed soon. A small page's time:
 *           retain/cost.h.
 * owner     g_huge (in huge.c).
 * locks     None. Thread-safe: two threads that note an outcome at a time may lose one of them.
 * hot path  No: once per region.
 * failure   A clock that stands still: each touch counts as refused, and after the second none is fetched.
 * not here  Which regions: runs/runs_open.c, blocks/big_huge.c. The advice: runs/region.h.
 */
#ifndef HAK_RETAIN_HUGE_H
#define HAK_RETAIN_HUGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/os.h"
#include "retain/footprint.h"
#include "tables/settings.h"

/* [bytes] in runs used, dirty or foreseen. Below, the rest of a region would be a large part of the program. */
enum { HAK_HUGE_LEAST = 16 << 20 };

/* True if the program is large enough. */
static inline bool hak_huge_fit(void) {
  return hak_load(&g_footprint.span) + hak_load(&g_footprint.foreseen) >= HAK_HUGE_LEAST;
}

/* True if a huge page for a region is worth fetching now. used: the region had pages since it was mapped. Lock: any. */
bool hak_huge_pays(bool used);

/* True if memory without advice has pages of 64 KiB to 1 MiB, which the advice against huge pages would forbid. */
static inline bool hak_huge_has_middle(void) {
  return hak_os_middle_bytes() != 0 && hak_setting(huge_pages) == HAK_HUGE_AUTO;
}

/* First touch of memory in a region that has advice for huge pages and no pages. p: memory of HAKMEM's, not handed out
 * and not yet touched. Notes the outcome and returns it: REFUSED, the region has a small page. Neither g_runs.lock nor
 * g_big.lock is held, as it may take milliseconds. */
enum hak_huge_outcome { HAK_HUGE_REFUSED, HAK_HUGE_DEAR, HAK_HUGE_CHEAP };
enum hak_huge_outcome hak_huge_touch(char *p, bool used);

/* For readers: whether regions to come are fetched as huge pages, and why not. cost: ns of the last first touch that
 * fetched one; 0: none yet. */
enum hak_huge_state { HAK_HUGE_NEVER, HAK_HUGE_ALWAYS, HAK_HUGE_PAYS, HAK_HUGE_PAUSES, HAK_HUGE_SHORT };
enum hak_huge_state hak_huge_state(void);
uint64_t hak_huge_cost(void);

#endif
