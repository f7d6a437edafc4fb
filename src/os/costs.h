/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* costs.h: the time that the kernel's work takes on this machine.
 *
 * what      A short experiment on scratch pages:
 *
 *               map, map                     / 2     a kernel call
 *               touch 16 pages, unmap them   / 16    a page: page fault, clearing and release, less the calls
 *               move 16 pages                / 16    a moved page, less the calls
 *
 *           The pages are warm: the kernel hands out pages that this CPU has just freed. In a fetch of thousands of
 *           pages each takes a fifth more (lab/docs/periods.md); a trial that shows the difference needs 2,048 pages
 *           and 4 ms.
 * failure   False: no scratch memory, or mapping fetches the pages at once (mlockall). move_ns is 0 if pages cannot be
 *           moved, or if mapping took as long as moving; call_ns and page_ns are valid then.
 * not here  The time of a measurement, and the smoothing: retain/cost.h.
 */
#ifndef HAK_OS_COSTS_H
#define HAK_OS_COSTS_H

#include <stdbool.h>
#include <stdint.h>

struct hak_os_costs {
  uint64_t call_ns, page_ns, move_ns; /* 0: not measurable */
};

/* Returns true if call_ns and page_ns were measured. Takes some 30 microseconds. Thread-safe and signal-safe; errno is
 * not changed. */
bool hak_os_measure(struct hak_os_costs *out);

#endif
