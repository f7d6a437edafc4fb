/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_backtrace.h: return addresses of a call of malloc.
 *
 * what      The return addresses from the program's call on outwards, in either of two ways:
 *
 *               unwinding        by the tables that compilers write for exceptions: complete in nearly every program
 *               frame pointers   [ frame of the caller | returns to ] -> [ its caller's | returns to ] -> ...
 *                                while each frame lies above the frame before and can be read. The kernel checks each
 *                                page first, so a program without frame pointers gets a short stack and never a fault
 *
 * owner     The caller owns the array.
 * locks     None of its own; the unwinder takes no lock in glibc 2.35 and later. The caller holds no lock.
 * failure   The call site alone.
 * not here  Storing stacks: profile_samples.h.
 */
#ifndef HAK_RECORD_PROFILE_BACKTRACE_H
#define HAK_RECORD_PROFILE_BACKTRACE_H

#include <stdbool.h>
#include <stdint.h>

enum { HAK_BACKTRACE_MOST = 128 };

/* Finds the unwinder and runs it once, as its first run may ask for memory. Do not call inside malloc. */
void hak_backtrace_prepare(void);

/* Takes the unwinder that another process found in this one (observe/asked.h): _Unwind_Backtrace and _Unwind_GetIP of a
 * libgcc that stays loaded; 0, 0: none any more. Without effect after a hak_backtrace_prepare that found one. */
void hak_backtrace_take_unwinder(uintptr_t unwind, uintptr_t address);

/* Fills frames[0 ..), with `site` first, and returns their number. `frame`: the frame of the function that the program
 * called, which has a frame pointer. by_frames: by frame pointers. */
unsigned hak_backtrace_take(uint64_t frames[HAK_BACKTRACE_MOST], const void *site, const void *frame, bool by_frames);

#endif
