/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_use.h: how full slabs are.
 *
 * what      Of a slab and a page: exact counts. Of all slabs of a class that are neither full nor empty: counts a
 *           moment old, from a walk over all units, which is repeated now and then.
 *
 *               class   [xxxxxxxx][xxxx..xx][x.......][........]      2 slabs with 7 blocks, 3.5 each
 *                          full       6         1        empty        moving the third slab's block pays
 *
 * owner     g_use (in slab_use.c).
 * locks     A class lock, or the lock of sampled slabs. The walk has a separate lock, under which no lock is taken.
 * orders    The walk reads slabs without class locks: a slab that changes meanwhile counts as before or as after.
 * not here  Which blocks to ask about: observe/utilization.c.
 */
#ifndef HAK_BLOCKS_SLAB_USE_H
#define HAK_BLOCKS_SLAB_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A slab and a page of the slab. */
struct hak_slab_use {
  size_t block_bytes, bytes;
  uint32_t slots, out;
  size_t page_out; /* bytes of handed-out blocks on the page */
  bool current;    /* a thread fills from this slab */
};

/* Fills *use for the slab and the page that p lies in. False: p lies in no handed-out block of a slab in the class
 * map. */
bool hak_slab_use_of(const void *p, struct hak_slab_use *use);

/* The same for sampled slabs (slab_sampled.h), which are all current. */
bool hak_slab_sampled_use_of(const void *p, struct hak_slab_use *use);

/* Partial slabs of class c, neither full nor empty, and the blocks handed out of these slabs. */
struct hak_slab_class_use {
  uint64_t slabs, out;
};
struct hak_slab_class_use hak_slab_use_of_class(unsigned c);

#endif
