/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pages.h: blocks of whole pages, cut out of units.
 *
 * what      A block of up to 512 KiB would lose up to half of its memory to whole units, so such blocks lie in paged
 *           units (tables/range.h), page beside page. A maximal row of free pages is a stretch, dirty (some page may
 *           hold data) or clean.
 *
 *               units   |      PAGED      |      PAGED      |      PAGED      | SLAB ...
 *               pages   [ block ][  block    ][ stretch ][ block     ][stretch]
 *
 *           A request takes, in this order: a dirty stretch, a part of a dirty run, a clean stretch, clean units; each
 *           time of the best fitting bin. Units whose pages are all free return to runs.h once the stretch around them
 *           is long, once their pages were purged, or once a run finds no dirty run with room.
 *
 *           The class map names the run class of a unit's blocks where all blocks that begin in the unit have the same
 *           class and no site; 0 otherwise.
 * owner     A block belongs to src/blocks until it is put back.
 * locks     g_runs.lock, as free pages count with free runs: one watermark, one keep limit (runs/runs.h).
 * orders    Under the lock. Pages lose their free bits before a block is written over them, and a block is erased
 *           before its pages get free bits: after a fork while another thread is inside, pages leak, and no page has
 *           two owners.
 * hot path  No: a few hundred instructions per block.
 * failure   NULL or 0.
 * not here  Requested sizes, sites, magazines: blocks/large.h.
 */
#ifndef HAK_RUNS_PAGES_H
#define HAK_RUNS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/die.h"
#include "tables/range.h"

/* [pages] of a block: less than a region has. */
enum { HAK_PAGES_LEAST = HAK_HALF_PAGES + 1, HAK_PAGES_MOST = (1 << 9) - 1 };

/* Takes a block of `pages` pages at a multiple of `align` pages (a power of two, at most a unit's), with this origin.
 * *zero: the block holds only zeros. NULL: no memory. */
void *hak_pages_get(size_t pages, size_t align, uint64_t origin, bool *zero);

/* Takes up to `want` blocks of `pages` pages without an origin; returns the number. Only the first block may need fresh
 * pages. */
size_t hak_pages_fill(size_t pages, void **out, size_t want);

/* Frees the block that begins at p if its class is c; 0: a block without a class. Returns its pages; 0: p is no such
 * block. *origin: the block's. */
size_t hak_pages_put(const void *p, unsigned c, uint64_t *origin);

/* Frees n blocks of class c; returns the pages. Reports the first wrong pointer, skips all wrong pointers. */
size_t hak_pages_put_some(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault);

/* The error of a pointer to a block of class c. Without the lock. */
enum hak_error hak_pages_judge(unsigned c, const void *p);

/* Of the live block that begins at p, in a paged unit: its pages (0: none begins there), its class (0: none), its
 * origin. Without the lock: p's owner asks. */
size_t hak_pages_of(const void *p);
unsigned hak_pages_class(const void *p);
uint64_t hak_pages_origin(const void *p);

/* The start of the live block around p, in a paged unit; NULL: none. Without the lock: the answer may be old. */
void *hak_pages_block(const void *p);

void hak_pages_set_origin(const void *p, uint64_t origin);

/* Makes the block that begins at p shorter or longer, in place. False: no room behind, or no memory. */
bool hak_pages_resize(const void *p, size_t pages);

/* Makes the run that begins at `unit` a block of `pages` pages; the rest of the run becomes free pages. Short dirty
 * runs on both sides become free pages, too: pages and runs never merge. */
void hak_pages_adopt(uint32_t unit, size_t pages, uint64_t origin);

/* Units without a used page, in stretches without a dirty page, return as clean runs. After a trim. */
void hak_pages_return_all(void);

#endif
