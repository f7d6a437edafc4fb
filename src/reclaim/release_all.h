/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* release_all.h: the heap as a whole.
 *
 * what      Everything that is free goes back at once: for malloc_trim, near a limit, and when there is no memory. What
 *           there is, as sums.
 * locks     Only the boxes', inside their calls.
 * failure   A wrong pointer found in a magazine ends the program.
 * not here  What goes back by and by: release.h. Trim and statistics as calls of their own: fast_path.h.
 */
#ifndef HAK_RECLAIM_RELEASE_ALL_H
#define HAK_RECLAIM_RELEASE_ALL_H

#include <stddef.h>

/* Gives back all but `pad` bytes of runs and big blocks, what all threads' magazines hold too; bytes that went. */
size_t hak_release_all(size_t pad);

#endif
