/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* heap.h: questions about the heap, and what is asked of all of it.
 *
 * what      Each is a slow path by itself: it enters, and leaves.
 * failure   As each says.
 * not here  Blocks: fast_path.h, slow_path.h. The exported names: api.
 */
#ifndef HAK_ENTRY_HEAP_H
#define HAK_ENTRY_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "hakmem/hakmem.h"

/* Usable bytes of a block. 0 for NULL; a pointer that is no live block's start is fatal. */
size_t hak_heap_usable(const void *p, const void *site);
bool hak_heap_owns(const void *p);

/* Gives back all free memory but `pad` bytes of runs and big blocks. True: there was some. */
bool hak_heap_trim(size_t pad);

/* Bytes handed out. */
size_t hak_heap_in_use(void);

/* Fills all but version and size. */
void hak_heap_stats(struct hak_stats *s);

/* The same of how full the slab of p is. 0; ENOENT: p lies in no block. */
int hak_heap_utilization(const void *p, struct hak_utilization *u);

/* After hak_set: whether calls are counted, limits and prices may have changed. 0, or ENOTSUP: this build has no
 * learning, and the mode is baseline again. */
int hak_heap_settings_changed(void);

#endif
