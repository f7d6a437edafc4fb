/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_sampled.h: slabs without a number in the class map.
 *
 * what      Blocks like those of slab.h, in slabs of their own, of which the class map says nothing: so each free of
 *           one comes to the slow door, whoever frees it. For the few blocks whose end must be seen.
 *
 *               class map    |  4  |  4  |  0  |  9  |        4: free finds the magazine
 *                              slab        apart slab         0: free passes the slow door, which asks here
 *
 * owner     g_apart (in slab_sampled.c).
 * locks     One for all classes. Span's and metadata's are taken under it.
 * orders    As in slab.h: the bitmap is the truth.
 * failure   NULL: no memory. A pointer that is no such block is said to be so.
 * not here  Which blocks: entry/sampled.h.
 */
#ifndef HAK_BLOCKS_SLAB_SAMPLED_H
#define HAK_BLOCKS_SLAB_SAMPLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/die.h"

/* A block of class c, which is of slabs and of no colour. NULL: no memory. */
void *hak_slab_sampled_take(unsigned c);

/* Does p lie in such a slab? */
bool hak_slab_is_sampled(const void *p);

/* Usable bytes of the live block that begins at p; 0 when none does. */
size_t hak_slab_sampled_bytes(const void *p);

/* Puts it back, or says what is wrong. */
enum hak_error hak_slab_sampled_put(void *p);

/* Bytes of the blocks that are out, and of the slabs. */
void hak_slab_sampled_sums(uint64_t *out_bytes, uint64_t *slab_bytes);

#endif
