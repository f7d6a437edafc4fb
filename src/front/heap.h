/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* heap.h: the heap as a whole.
 *
 * what      Everything that is free goes back at once: for malloc_trim, near a limit, and when there is no memory. What
 *           there is, as sums.
 * locks     Only the boxes', inside their calls.
 * failure   A wrong pointer found in a magazine ends the program.
 * not here  What goes back by and by: ageing.h. Trim and statistics as calls of their own: front.h.
 */
#ifndef HAK_FRONT_HEAP_H
#define HAK_FRONT_HEAP_H

#include <stddef.h>

#include "hakmem/hakmem.h"

/* Gives back all but `pad` bytes of runs and big blocks, what all threads' magazines hold too; bytes that went. */
size_t hak_heap_release(size_t pad);

/* Fills all but version and size. In a slow door. */
void hak_heap_stats(struct hak_stats *s);

#endif
