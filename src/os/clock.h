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

#include <time.h>

/* `coarse` is the same clock in a few ms, for a program that forbade itself to read the processor's: it would end. */
struct timespec hak_clock(clockid_t which, clockid_t coarse);

/* The program is about to forbid it. */
void hak_clock_stay_coarse(void);

/* The same by a kernel call, which touches neither code nor data of the vdso. */
struct timespec hak_clock_called(clockid_t which);

/* The address of the function of this name in an image that begins with this ELF header, loaded as it is in a file;
 * NULL: there is none. */
void *hak_clock_find(const void *image, const char *name);

#endif
