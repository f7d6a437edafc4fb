/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_sampled.h: sampled slabs, without a class in the class map.
 *
 * what      Blocks like those of slab.h, in separate slabs for which the class map holds 0: each free of such a block
 *           takes the slow path, in whatever thread. For the few sampled blocks whose free must be seen.
 *
 *               class map    |  4  |  4  |  0  |  9  |        4: free finds the magazine
 *                              slab       sampled slab        0: free takes the slow path, which asks here
 *
 * owner     g_sampled (in slab_sampled.c).
 * locks     A single lock for all classes. g_runs.lock and the metadata lock are taken under this lock.
 * orders    As in slab.h: the bitmap is the truth.
 * failure   NULL: no memory. A wrong pointer: an error code, no change.
 * not here  Which blocks are sampled: entry/sampled.h.
 */
#ifndef HAK_BLOCKS_SLAB_SAMPLED_H
#define HAK_BLOCKS_SLAB_SAMPLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/die.h"

/* Takes a block of class c, a class of slabs without a colour. NULL: no memory. */
void *hak_slab_sampled_take(unsigned c);

/* True if p lies in a sampled slab. */
bool hak_slab_is_sampled(const void *p);

/* Usable bytes of the live sampled block that begins at p; 0 if none does. */
size_t hak_slab_sampled_bytes(const void *p);

/* Puts the sampled block back. Returns HAK_ERROR_none, or the error. */
enum hak_error hak_slab_sampled_put(void *p);

/* Bytes of live sampled blocks, and of sampled slabs. */
void hak_slab_sampled_sums(uint64_t *out_bytes, uint64_t *slab_bytes);

#endif
