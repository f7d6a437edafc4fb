/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big.h: blocks mapped one by one, and a bounded cache of freed blocks.
 *
 * what      Every block is a mapping, or part of a mapping, and has an entry in a table, which can be asked about any
 *           value without a fault. Freed memory is cached for a while, within the keep limit (retain/watermark.h), and
 *           serves requests of any size: pieces are cut and joined, and pages are moved by mremap.
 *
 * owner     g_big (in big_table.c).
 * locks     g_big.lock, not held over kernel calls, except for the memory of the table.
 * orders    Under the lock. An entry's bytes are written before the address: a fork while another thread is inside
 *           leaves a valid table.
 * failure   NULL: no memory. A mapping that the kernel refuses to unmap is recorded, and offered again at each trim.
 * not here  How long to keep which block: learn/big_keep.c.
 */
#ifndef HAK_BLOCKS_BIG_H
#define HAK_BLOCKS_BIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/die.h"
#include "retain/rent.h"
#include "tables/extents.h"

/* n bytes at a multiple of align (a power of two), for this site. *zero in: prefer zero memory; out: the block is known
 * to hold only zeros. NULL: no memory. */
void *hak_big_alloc(size_t n, size_t align, unsigned site, bool *zero);

/* Usable bytes of the block that begins at p; 0 if none does. Lock-free: right for a block that no thread frees or
 * resizes meanwhile. */
size_t hak_big_bytes(const void *p);

/* The live block that p lies in; NULL if none. */
const void *hak_big_block_of(const void *p);

/* The live block or the cached piece that p lies in; bytes 0: none. Lock-free: a concurrent change may be missed, or
 * cause a fault. Signal-safe. */
struct hak_big_seen {
  uintptr_t address;
  size_t bytes;
  unsigned site; /* current or last owner; 0: not known */
  bool live;
};
struct hak_big_seen hak_big_identify(const void *p);

/* The error of a free of p for which hak_big_free returned 0: interior, released or foreign. */
enum hak_error hak_big_judge(const void *p);

/* Frees the block that begins at p; returns the bytes, 0 if no block begins there. */
size_t hak_big_free(void *p);

/* Resizes the block at p to n bytes; the pages may move to a new address. NULL: no memory, or the caller must copy; the
 * block is unchanged. */
void *hak_big_resize(void *p, size_t n);

/* Unmaps the first `bytes` bytes, whole pages, of the block at p, without caching. Returns the start of the remaining
 * block: p if the table had no room (block unchanged), NULL if nothing remains. */
void *hak_big_shed(void *p, size_t bytes);

/* Releases cached memory, oldest first, down to min(keep, keep limit) bytes. Returns the bytes released. */
size_t hak_big_trim(size_t keep);

/* Offers the kernel again the mappings that the kernel refused to unmap. */
void hak_big_retry(void);

/* In a fork's child: forgets the blocks that other threads of the parent were about to map. */
void hak_big_forget_claims(void);

/* Takes and drops g_big.lock, which also guards what is learnt of keep times (learn/big_keep.c). */
void hak_big_lock(void);
void hak_big_unlock(void);

/* Fetches the pages of the table. */
void hak_big_populate_table(void);

/* Bytes mapped for the table. */
size_t hak_big_table_bytes(void);

/* Bytes of live blocks, and of freed blocks that are still mapped. */
void hak_big_bytes_now(uint64_t *live, uint64_t *cached);
/* Bytes fetched within the last T (retain/watermark.h) while as many bytes were cached, but did not fit. */
uint64_t hak_big_misfit(void);

/* Number of live blocks. */
uint64_t hak_big_live_blocks(void);

/* Adds the extents of live blocks, of cached memory and of the table to the list. */
void hak_big_extents(struct hak_extents *list);

#endif
