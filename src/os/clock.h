/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* clock.h: the kernel's clock, read as libc reads the clock.
 *
 * what      The kernel maps a clock_gettime into every process (the vdso); the function is found by name once. Without
 *           a vdso, as in an emulator, a kernel call. The name clock_gettime may be defined by the program or an
 *           interposer: such a function may call malloc, or return a time that runs or stands still at will.
 * owner     g_clock (in clock.c).
 * locks     None. Thread-safe and signal-safe.
 * orders    Relaxed: two threads that search at the same time find the same function.
 * failure   Time 0 if the kernel refuses.
 * not here  The choice of the clock: os.c.
 */
#ifndef HAK_OS_CLOCK_H
#define HAK_OS_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/atomic.h"
#include "base/bits.h"

typedef int hak_clock_function(clockid_t which, struct timespec *out);

/* Adjacent, because every slow path reads both. */
struct hak_clock {
  hak_clock_function *function; /* NULL: not searched for yet */
  bool coarse;
};
extern HAK_HIDDEN struct hak_clock g_clock;

/* Finds the function, stores the address in g_clock and reads the clock. */
int hak_clock_first(clockid_t which, struct timespec *out);

/* Reads the clock `which`. After hak_clock_stay_coarse reads `coarse`, the same clock in steps of a few ms: a program
 * that forbade itself to read the processor's time stamp counter would be ended by a read of `which`. */
static inline struct timespec hak_clock(clockid_t which, clockid_t coarse) {
  struct timespec t = {0, 0};
  hak_clock_function *function = hak_load(&g_clock.function);
  bool must = which != coarse && HAK_UNLIKELY(hak_load(&g_clock.coarse));
  if (HAK_UNLIKELY(function == NULL)) hak_clock_first(must ? coarse : which, &t);
  else function(must ? coarse : which, &t);
  return t;
}

/* Called before the program forbids itself to read the time stamp counter. */
void hak_clock_stay_coarse(void);

/* Reads the clock by a kernel call: touches neither code nor data of the vdso. */
struct timespec hak_clock_called(clockid_t which);

/* Returns the address of the function `name` in the ELF image whose header is at `image`, laid out in memory as in the
 * file; NULL: no such function. */
void *hak_clock_find(const void *image, const char *name);

#endif
