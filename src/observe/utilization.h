/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* utilization.h: how full the slab of a block is, and whether moving the block pays.
 *
 * what      Fills struct hak_utilization of hakmem.h.
 * locks     Takes the lock of the slab's class, for its sums.
 * not here  The caller: entry/heap.h.
 */
#ifndef HAK_OBSERVE_UTILIZATION_H
#define HAK_OBSERVE_UTILIZATION_H

#include <stdbool.h>

#include "hakmem/hakmem.h"

/* Call in a slow path. False: p lies in no block. */
bool hak_utilization_of(const void *p, struct hak_utilization *u);

#endif
