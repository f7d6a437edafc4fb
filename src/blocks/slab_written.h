/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_written.h: whether a program writes to all pages of its blocks.
 *
 * what      Blocks of more than a page may be buffers of which only the start is ever used: a huge page would make the
 *           rest resident. 16 pages of an earlier slab of the class tell:
 *
 *               slab    |W...|W...|W...|W...|    buffers: 4 of 16 pages have content
 *               slab    |WWWW|WWW.|WWWW|WWWW|    written
 *
 *           The kernel looks at the words, so memory that the program made unreadable is no fault. A page without
 *           content stays without.
 * locks     None, and none may be held: the bytes are the program's.
 * hot path  No: once for each region of 2 MiB that a slab of such blocks begins.
 * failure   False: no earlier slab, or a kernel or a sandbox without the call.
 * not here  What follows from it: blocks/slab.c.
 */
#ifndef HAK_BLOCKS_SLAB_WRITTEN_H
#define HAK_BLOCKS_SLAB_WRITTEN_H

#include <stdbool.h>
#include <stdint.h>

/* True if at least 14 of 16 pages of the slab of class c that begins at `unit` (0: none) have content. The slab may be
 * gone by now. */
bool hak_slab_is_written(unsigned c, uint32_t unit);

#endif
