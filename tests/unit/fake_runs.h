/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fake_runs.h: runs of units out of an inaccessible arena.
 *
 * what      Takes the place of runs/runs.c. The address range is a fixed area without any rights: a slab that read or
 *           wrote a user's memory would end the program. Runs are found by a scan of every unit.
 * owner     fake_span.
 * locks     A mutex of fake_runs.c.
 * orders    Under the lock.
 * failure   No run after a request of the test, and when the arena is full.
 * not here  The choice of clean runs: the test.
 */
#ifndef HAK_TEST_FAKE_SPAN_H
#define HAK_TEST_FAKE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_SPAN_UNITS = 2048 };

struct fake_span {
  uint64_t gets, puts;
  uint64_t clean_puts;  /* puts that promised runs without pages */
  size_t units_out, runs_out;
  uint64_t permits;     /* number of gets that succeed before all fail; UINT64_MAX: no end */
  const char *wrong;    /* a misuse that was seen */
  bool dirty;           /* runs are handed out dirty */
  bool dense;           /* every run lies in huge pages that are better kept */
  uint64_t breaks;      /* huge pages that were broken all the same */
  bool opens;           /* every slab begins a region, which becomes a huge page */
  uint64_t closes;      /* regions given up before */
  uint64_t fetches;     /* first touches of regions; each takes the lock of the slab's class */
};
extern struct fake_span fake_span;

/* Maps the arena and makes g_range describe the arena. Once per process. */
void fake_span_start(void);

#endif
