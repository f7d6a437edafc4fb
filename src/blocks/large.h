/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* large.h: blocks that are runs of units, above the slabs and below the big threshold.
 *
 * what      A block is a run; its facts are the run's. While it is 1 to 4 units long and no site is told of it, the
 *           class map says so at its first unit, so that free finds the magazine that it goes to. Behind the magazines
 *           there is no cache: span's dirty bins are one.
 *
 *               class map    |  2R  |  0   |  0  |  0  |  0  |  0  |  1R  |      1R, 2R: HAK_RUN_65536, HAK_RUN_131072
 *                             \- 128 KiB -/ \-- longer, or told -/  64 KiB
 *
 *           A free run that is longer is cut at its end for sites whose blocks stay, at its beginning for all others:
 *
 *               | soon | soon | . . . . . free . . . . . | stays | stays |       what goes leaves one run, not holes
 *
 * owner     The run belongs to the block until it is freed. g_large counts the bytes out of span.
 * locks     Span's.
 * orders    The counter is relaxed. Of two who put the same run back the map's byte chooses one, by a compare-and-swap.
 *           It never promises more units than the run has: a cut leaks some, and hands none out twice.
 * failure   NULL: no memory.
 * not here  Who decides which runs are told by their sites: entry/slow_path.c.
 */
#ifndef HAK_BLOCKS_LARGE_H
#define HAK_BLOCKS_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/die.h"

/* n bytes at a multiple of align (a power of two), for this site, or for none: 0. *zero: the block is known to be all
 * zero. */
void *hak_large_alloc(size_t n, size_t align, unsigned site, bool *zero);

/* Up to `want` blocks of run class c; how many. Only the first may need fresh pages. */
size_t hak_large_fill(unsigned c, void **out, size_t want);

/* Puts n blocks of run class c back. The first wrong pointer is reported, all wrong ones are left out. */
void hak_large_put(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault);

/* Looks at n such blocks that stay outside: a wrong pointer is reported. */
void hak_large_check(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault);

/* Frees the block p that has no class, of the run that p lies in; its bytes. 0: it is no such block. */
size_t hak_large_free(uint32_t unit, const void *p);

/* Usable bytes of that block. */
size_t hak_large_bytes(uint32_t unit);

/* Makes it n bytes long where it lies; false when it cannot. */
bool hak_large_resize(uint32_t unit, size_t n);

/* From now on this site is told of the live block: it has no class any more. 0: nobody is, it stays as it is. */
void hak_large_tell(uint32_t unit, unsigned site);

/* Usable bytes of all large blocks, those in magazines too. */
uint64_t hak_large_handed_out(void);

#endif
