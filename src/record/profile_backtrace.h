/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_backtrace.h: return addresses of a call of malloc.
 *
 * what      The return addresses from the program's call on outwards, by the tables that compilers write for
 *           exceptions: complete in nearly every program. Where HAKMEM's own frames have no tables, by frame pointers.
 *
 * owner     The caller owns the array.
 * locks     None held by the caller.
 * failure   The call site alone.
 * not here  The walk: unwind.h. Storing stacks: profile_samples.h.
 */
#ifndef HAK_RECORD_PROFILE_BACKTRACE_H
#define HAK_RECORD_PROFILE_BACKTRACE_H

#include <stdbool.h>
#include <stdint.h>

enum { HAK_BACKTRACE_MOST = 128 };

/* Before stacks are taken because a setting says so. From then on no kernel call is made for a stack once the program
 * enters a sandbox. */
void hak_backtrace_prepare(void);

/* Before the program enters a sandbox: from now on no kernel call is made for a stack, whenever stacks are asked for.
 * reads: what stacks need is read, for the time when it cannot be. */
void hak_backtrace_finish(bool reads);

/* True: no kernel calls but those of malloc, in a sandbox that HAKMEM was not told of. */
void hak_backtrace_bare(bool bare);

/* Fills frames[0 ..), with `site` first, and returns their number. `frame`: the frame of the function that the program
 * called, which has a frame pointer. sp: NULL, or the frames have sizes in their upper bits (unwind.h), and out: where
 * the first one begins; 0: they have none. */
unsigned hak_backtrace_take(uint64_t frames[HAK_BACKTRACE_MOST], const void *site, const void *frame, uintptr_t *sp);

#endif
