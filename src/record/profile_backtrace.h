/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_backtrace.h: who called.
 *
 * what      The return addresses of a call of malloc, from the program's call on outwards, in one of two ways:
 *
 *               unwinding        by the tables that compilers write for exceptions: complete in nearly every program
 *               frame pointers   [ frame of the caller | returns to ] -> [ its caller's | returns to ] -> ...
 *                                as long as each lies above the one before and can be read; the kernel is asked page by
 *                                page, so that a program without them gets a short stack and never a fault
 *
 * owner     The caller owns the array.
 * locks     None of its own; those of the unwinder, which takes none in glibc 2.35 and later. No lock may be held.
 * failure   The call site alone.
 * not here  What is kept of it: profile_samples.h.
 */
#ifndef HAK_RECORD_PROFILE_BACKTRACE_H
#define HAK_RECORD_PROFILE_BACKTRACE_H

#include <stdbool.h>
#include <stdint.h>

enum { HAK_BACKTRACE_MOST = 128 };

/* Finds the unwinder, and lets it do once what it does at first: it may ask for memory. Not inside malloc. */
void hak_backtrace_prepare(void);

/* Fills frames[0 ..), the first of which is `site`; how many. `frame` is the frame of the function that the program
 * called, which has a frame pointer. */
unsigned hak_backtrace_take(uint64_t frames[HAK_BACKTRACE_MOST], const void *site, const void *frame, bool by_frames);

#endif
