/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* clock.h: the kernel's clock, asked as libc asks it.
 *
 * what      A function that the kernel maps into every process (the vdso), found by its name once; where there is
 *           none, as in an emulator, the kernel is called. libc's own clock_gettime may be the program's or an
 *           interposer's: it may call malloc, and tell a time that runs or stands still as it likes.
 * owner     g_clock (in clock.c).
 * locks     None. Thread-safe and signal-safe.
 * orders    Relaxed: two threads that look at once find the same.
 * failure   Zero time, where the kernel refuses.
 * not here  Which clock: os.c.
 */
#ifndef HAK_OS_CLOCK_H
#define HAK_OS_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/atomic.h"
#include "base/bits.h"

typedef int hak_clock_function(clockid_t which, struct timespec *out);

/* Together, as every slow door reads both: they take no more room than one of them. */
struct hak_clock {
  hak_clock_function *function; /* NULL: not looked for */
  bool coarse;
};
extern HAK_HIDDEN struct hak_clock g_clock;

/* Looks for the function, and asks it. */
int hak_clock_first(clockid_t which, struct timespec *out);

/* `coarse` is the same clock in a few ms, for a program that forbade itself to read the processor's: it would end. */
static inline struct timespec hak_clock(clockid_t which, clockid_t coarse) {
  struct timespec t = {0, 0};
  hak_clock_function *function = hak_load(&g_clock.function);
  bool must = which != coarse && HAK_UNLIKELY(hak_load(&g_clock.coarse));
  if (HAK_UNLIKELY(function == NULL)) hak_clock_first(must ? coarse : which, &t);
  else function(must ? coarse : which, &t);
  return t;
}

/* The program is about to forbid it. */
void hak_clock_stay_coarse(void);

/* The same by a kernel call, which touches neither code nor data of the vdso. */
struct timespec hak_clock_called(clockid_t which);

/* The address of the function of this name in an image that begins with this ELF header, loaded as it is in a file;
 * NULL: there is none. */
void *hak_clock_find(const void *image, const char *name);

#endif
