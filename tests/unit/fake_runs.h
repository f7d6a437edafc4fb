/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fake_runs.h: runs of units out of an arena that nobody may touch.
 *
 * what      Takes the place of runs/runs.c. The address range is a fixed area without any rights: a slab that read or
 *           wrote a user's memory would end the program. Runs are found by looking at every unit.
 * owner     fake_span.
 * locks     Its own.
 * orders    Under the lock.
 * failure   No run when told so, and when the arena is full.
 * not here  Which runs are clean: the test says so.
 */
#ifndef HAK_TEST_FAKE_SPAN_H
#define HAK_TEST_FAKE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_SPAN_UNITS = 2048 };

struct fake_span {
  uint64_t gets, puts;
  uint64_t clean_puts;  /* those of the puts that promised that there are no pages */
  size_t units_out, runs_out;
  uint64_t permits;     /* so many gets succeed before all fail; UINT64_MAX: no end */
  const char *wrong;    /* a misuse that was seen */
  bool dirty;           /* runs are handed out as dirty ones */
  bool dense;           /* every run lies in huge pages that are better kept */
  uint64_t breaks;      /* huge pages that were broken all the same */
};
extern struct fake_span fake_span;

/* Lays the arena and makes g_range describe it. Once per process. */
void fake_span_start(void);

#endif
