/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big.h: blocks mapped one by one, and a bounded cache of freed ones.
 *
 * what      Every block is a mapping, or part of one, known to a table that can be asked about any value without a
 *           fault. What is freed is kept for a while, as much as retain/watermark.h says, and serves requests of any
 *           size: it is cut, joined, and its pages are moved.
 *
 * owner     g_big (in big_table.c).
 * locks     Its own; never held over a kernel call, but for the table's growth.
 * orders    Under the lock. A table entry's bytes are written before its address, so a cut leaves it valid.
 * failure   NULL: no memory. A mapping the kernel will not take back is kept, and offered to it again at each trim.
 * not here  Learning how long to keep which block.
 */
#ifndef HAK_BLOCKS_BIG_H
#define HAK_BLOCKS_BIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/die.h"
#include "retain/rent.h"
#include "tables/extents.h"

/* n bytes at a multiple of align (a power of two), for this site. *zero, before: is zero memory liked better; after: is
 * the block known to be all zero. */
void *hak_big_alloc(size_t n, size_t align, unsigned site, bool *zero);

/* Usable bytes of the block that begins at p, 0 when none does. No lock is taken: the answer is right
 * for a block that no other thread frees or resizes meanwhile. */
size_t hak_big_bytes(const void *p);

/* The live block that p lies in, NULL when in none. */
const void *hak_big_block_of(const void *p);

/* The block that p lies in, or the freed memory that is kept for others; no bytes: neither. No lock is taken, and what
 * changes meanwhile may be missed, or fault. Signal-safe. */
struct hak_big_seen {
  uintptr_t address;
  size_t bytes;
  unsigned site; /* that has it, or had it last; 0: not known */
  bool live;
};
struct hak_big_seen hak_big_identify(const void *p);

/* What is wrong with freeing p, of which hak_big_free said 0: interior, given back or foreign. */
enum hak_error hak_big_judge(const void *p);

/* Frees the block that begins at p; its bytes, 0 when none does. */
size_t hak_big_free(void *p);

/* Resizes the block at p to n bytes, moving its pages if needed. NULL: no memory, or it must be copied; the block is as
 * it was. */
void *hak_big_resize(void *p, size_t n);

/* Gives the first `bytes`, whole pages, of the block at p back to the kernel: none is kept. Where the rest begins: at p
 * when there was no room for that, NULL when nothing is left. */
void *hak_big_shed(void *p, size_t bytes);

/* Gives kept memory back until no more than `keep` bytes of it are there, nor more than may stay; bytes given back. */
size_t hak_big_trim(size_t keep);

/* Offers the kernel again what it once refused to unmap. */
void hak_big_retry(void);

/* In a fork's child: what other threads were about to map is not mapped here. */
void hak_big_forget_claims(void);

/* Takes and drops the lock, which is the learner's, too. */
void hak_big_lock(void);
void hak_big_unlock(void);

/* Fetches the table's pages. */
void hak_big_populate_table(void);

/* Bytes mapped for the table. */
size_t hak_big_table_bytes(void);

/* Bytes in live blocks, and in freed ones that are still mapped. */
void hak_big_bytes_now(uint64_t *live, uint64_t *cached);
/* Bytes that were fetched within a rent though as many were free. */
uint64_t hak_big_misfit(void);

/* How many live blocks there are. */
uint64_t hak_big_live_blocks(void);

/* Where the blocks lie, live and freed, and the table. */
void hak_big_extents(struct hak_extents *list);

#endif
