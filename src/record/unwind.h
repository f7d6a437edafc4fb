/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* unwind.h: the walk of this thread's stack.
 *
 * what      From the caller outwards, a frame at a time. Where the frame lies depends on the instruction alone, so it
 *           is found in the module's tables once and remembered by return address: some forty instructions a frame.
 *
 *               pc --cache--> rule: CFA, where fp is ----> sp = CFA, pc = the return address, fp
 *                    \--- new: unwind_modules.h, unwind_table.h -> cache
 *
 *           Code without tables, as that of compilers at run time, is passed by its frame pointer. Such a return
 *           address must lie in code. Return addresses of signal handlers lead to the interrupted instruction.
 *
 *               stack: first thread's | above this thread's sp, up to its storage, looked at once | else page by page
 *
 *           Nothing is read outside of those: words that are no frames end the walk, and never fault.
 * owner     g_unwind: the cache, which grows up to a bound. A thread: how much of its stack was looked at.
 * locks     None held while the stack or a table is read.
 * orders    A row of the cache is two words, of which one has the other in its key: torn rows fit no key.
 * failure   A shorter stack.
 * not here  Stacks of samples: profile_backtrace.h.
 */
#ifndef HAK_RECORD_UNWIND_H
#define HAK_RECORD_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

/* Upper bits of a return address, where sizes were asked for: words on the stack between the begin of the frame before
 * and of this one, which are that frame's size. 0: unknown, or too many. */
enum { HAK_FRAME_SIZE_SHIFT = 48, HAK_FRAME_SIZE_BITS = 15 };
#define HAK_FRAME_SIZE_MASK ((((uint64_t)1 << HAK_FRAME_SIZE_BITS) - 1) << HAK_FRAME_SIZE_SHIFT)

/* Stores the return addresses from `site` on outwards, at most `most`; `site` is the address to which one of the
 * calls returns that led here. Returns their number; 0: `site` is none of the innermost ones. bare: no kernel calls but
 * those of malloc. sp: NULL, or sizes are asked for, and out: the address at which the frame that called begins. */
unsigned hak_unwind(uint64_t *frames, unsigned most, uint64_t site, bool bare, uintptr_t *sp);

/* The same by frame pointers alone, from this frame, which has one, on outwards: what its function returns to first. */
unsigned hak_unwind_chain(uint64_t *frames, unsigned most, const void *frame, bool bare);

#endif
