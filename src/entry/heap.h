/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* heap.h: operations on the whole heap.
 *
 * what      Each function enters and leaves the allocator like a slow path.
 * failure   As each function says.
 * not here  Single blocks: fast_path.h, slow_path.h. The exported names: src/api.
 */
#ifndef HAK_ENTRY_HEAP_H
#define HAK_ENTRY_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "hakmem/hakmem.h"

bool hak_heap_owns(const void *p);

/* Releases all free memory except `pad` bytes of runs and big blocks. True: some memory was released. */
bool hak_heap_trim(size_t pad);

/* [bytes] Blocks handed out. */
size_t hak_heap_in_use(void);

/* Fills all fields except version and size. */
void hak_heap_stats(struct hak_stats *s);

/* Fills how full the slab of p is, except version and size. ENOENT: p lies in no block. */
int hak_heap_utilization(const void *p, struct hak_utilization *u);

/* Applies changed settings after hak_set: counting, limits, prices. ENOTSUP: this build has no learning, and the mode
 * is baseline. */
int hak_heap_settings_changed(void);

#endif
