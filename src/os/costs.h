/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* costs.h: what the kernel's work costs on this machine.
 *
 * what      A short experiment on scratch pages, with the clock:
 *
 *               map, map            / 2           a kernel call
 *               touch 16 pages      / 16          a page: its fault, that it is cleared,
 *               unmap them          / 16          and that it goes back before it can be fetched, less the calls
 *               move them           / 16          a moved page, less the calls that it takes
 *
 *           The pages are warm: the kernel hands out again what this CPU has just freed. Where thousands are fetched,
 *           each takes a fifth more (lab/docs/periods.md). A trial that shows it would touch 2,048, 4 ms long.
 * failure   false: no memory to try it with, or pages come when they are mapped (mlockall). Where pages cannot be
 *           moved, or mapping took as long as moving them, the two others are told.
 * not here  When it is done, and what follows from it: retain/rent.h.
 */
#ifndef HAK_OS_COSTS_H
#define HAK_OS_COSTS_H

#include <stdbool.h>
#include <stdint.h>

struct hak_os_costs {
  uint64_t call_ns, page_ns, move_ns; /* 0: it cannot be told */
};

/* True: a call and a page were measured. Some 30 microseconds. Thread-safe and signal-safe; errno is left as it was. */
bool hak_os_measure(struct hak_os_costs *out);

#endif
