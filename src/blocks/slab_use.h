/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_use.h: how full slabs are.
 *
 * what      Of one slab and one of its pages, exactly; of all slabs of a class that are neither full nor empty, as they
 *           were a moment ago: that takes a walk over all units, which is done now and then only.
 *
 *               class   [xxxxxxxx][xxxx..xx][x.......][........]      2 slabs with 7 blocks, 3.5 each
 *                          full       6         1        empty        a block of the third one is worth moving
 *
 * owner     g_use (in slab_use.c).
 * locks     A class's, or that of slabs that lie apart; the walk has its own, and nothing is taken under it.
 * orders    The walk reads without a lock: a slab that changes meanwhile counts as before or as after.
 * not here  Who asks: observe/utilization.c.
 */
#ifndef HAK_BLOCKS_SLAB_USE_H
#define HAK_BLOCKS_SLAB_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A slab, and a page of it. Blocks that are out are live or in a thread's cache. */
struct hak_slab_use {
  size_t block_bytes, bytes;
  uint32_t slots, out;
  size_t page_out; /* bytes of blocks that are out, on the page */
  bool current;    /* some thread takes its blocks from there */
};

/* The slab and the page that p lies in. False: it lies in no block that is out of a slab with a number in the class
 * map. */
bool hak_slab_use_of(const void *p, struct hak_slab_use *use);

/* The same of slabs that lie apart: all of them are taken from. */
bool hak_slab_sampled_use_of(const void *p, struct hak_slab_use *use);

/* Slabs of class c that hold a block and have room for one, and blocks that are out of them. */
struct hak_slab_class_use {
  uint64_t slabs, out;
};
struct hak_slab_class_use hak_slab_use_of_class(unsigned c);

#endif
