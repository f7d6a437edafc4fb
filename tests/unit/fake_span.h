/* fake_span.h: runs of units out of an arena that nobody may touch.
 *
 * what      Takes the place of span/span.c. The address range is a fixed area without any rights: a slab that read or
 *           wrote a user's memory would end the program. Runs are found by looking at every unit.
 * owner     fake_span.
 * locks     Its own.
 * orders    Under the lock.
 * hot path  No.
 * failure   No run when told so, and when the arena is full.
 * not here  Dirty and clean: every run is clean.
 */
#ifndef HAK_TEST_FAKE_SPAN_H
#define HAK_TEST_FAKE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_SPAN_UNITS = 2048 };

struct fake_span {
  uint64_t gets, puts;
  size_t units_out, runs_out;
  uint64_t permits;     /* so many gets succeed before all fail; UINT64_MAX: no end */
  const char *wrong;    /* a misuse that was seen */
};
extern struct fake_span fake_span;

/* Lays the arena and makes g_range describe it. Once per process. */
void fake_span_start(void);

#endif
