/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_written.h: whether a program writes to all pages of its blocks.
 *
 * what      Blocks of more than a page may be buffers of which only the start is ever used: a huge page would make the
 *           rest resident. 16 pages of eight earlier slabs of the class tell:
 *
 *               slab    |W...|W...|W...|W...|    buffers: a fourth of the pages has content
 *               slab    |WWWW|WWW.|WWWW|WWWW|    written
 *
 *           The kernel looks at the words, so memory that the program made unreadable is no fault. A page without
 *           content stays without.
 * locks     None, and none may be held: the bytes are the program's.
 * hot path  No: once for 32 slabs that are opened, if one of them in memory without pages.
 * failure   False: fewer slabs, a kernel without the call, or a sandbox, which may forbid the call to a program of one
 *           thread. Where the program serves page faults by userfaultfd, the kernel's too, the call waits for the
 *           program's server.
 * not here  What follows from it: blocks/slab.c.
 */
#ifndef HAK_BLOCKS_SLAB_WRITTEN_H
#define HAK_BLOCKS_SLAB_WRITTEN_H

#include <stdbool.h>
#include <stdint.h>

enum { HAK_SLAB_SAMPLES = 8 };

/* True if at least 15 of 16 pages, two in each of the slabs of class c that begin at these units (0: none), have
 * content. A slab that is gone by now counts as without. */
bool hak_slab_is_written(unsigned c, const uint32_t unit[HAK_SLAB_SAMPLES]);

#endif
