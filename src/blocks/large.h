/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* large.h: blocks above the slabs and below the big threshold.
 *
 * what      A block of up to 512 KiB is cut in pages (runs/pages.h), a longer block is a run of units (runs/runs.h).
 *           Blocks of 9 to 64 pages have run classes, eight per doubling, so that such blocks can lie in magazines. A
 *           block from a magazine, or of just a class's length, has a class; a block with a site has none. Where all
 *           blocks that begin in a unit have one class, the class map names it, and free finds the magazine by it.
 *
 *               class map    |  72K  |  0   |  64K  |    0    |  0  |      36K and 40K begin in the fourth unit
 *                            \-- 72 KiB --/\ 64 KiB /\36 KiB/\40 KiB/
 *
 *           A longer free run is cut at the high end for sites with long-lived blocks, at the low end otherwise:
 *
 *               | brief | brief | . . . . . free . . . . . | lasts | lasts |       brief blocks leave a run, not holes
 *
 * owner     The memory belongs to the block until the free. g_large (in large.c) counts the bytes of all blocks.
 * locks     g_runs.lock.
 * orders    The counter is relaxed. Of two frees of the same block only the first succeeds: under the lock.
 * failure   NULL: no memory.
 * not here  Which blocks get a site: entry/slow_path.c.
 */
#ifndef HAK_BLOCKS_LARGE_H
#define HAK_BLOCKS_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/die.h"

/* In all functions, `unit` is hak_range_run_of(p), and is no slab. */

/* n bytes at a multiple of align (a power of two), with this site; 0: no site. *zero: the block holds only zeros. */
void *hak_large_alloc(size_t n, size_t align, unsigned site, bool *zero);

/* Frees the block without a class that begins at p; returns the bytes. 0: p is no such block. */
size_t hak_large_free(uint32_t unit, const void *p);

/* Usable bytes of the block that begins at p; 0: none begins there. */
size_t hak_large_bytes(uint32_t unit, const void *p);

/* The start of the live block around p; NULL: p lies in no block. The answer may be old. */
const void *hak_large_block_of(uint32_t unit, const void *p);

/* Resizes the block at p, of `have` usable bytes, to n bytes, in place. Returns the usable bytes; 0: no room behind the
 * block, or no memory. */
size_t hak_large_resize(uint32_t unit, const void *p, size_t have, size_t n);

/* Gives a live block without a site this site: the block has no class from now on. Site 0: no change. */
void hak_large_tell(uint32_t unit, const void *p, unsigned site);

/* The site of the block that begins at p; 0: none. */
unsigned hak_large_site(uint32_t unit, const void *p);

/* Usable bytes of all large blocks, including blocks in magazines. */
uint64_t hak_large_handed_out(void);

/* The run class of the block that begins at p, for pointers whose unit has no class; 0: none. p may be any value. */
unsigned hak_large_class(const void *p);

/* Takes up to `want` blocks of run class c; returns the number. Only the first block may need fresh pages. */
size_t hak_large_fill(unsigned c, void **out, size_t want);

/* Puts n blocks of run class c back. Reports the first wrong pointer, skips all wrong pointers. */
void hak_large_put(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault);

/* Checks n blocks of run class c that go to the depot: reports a wrong pointer. */
void hak_large_check(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault);

#endif
