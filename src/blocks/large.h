/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* large.h: blocks that are runs of units, above the slabs and below the big threshold.
 *
 * what      A block is a run; the run's facts are the block's. For a block of 1 to 4 units without a site label, the
 *           class map holds a run class at the first unit, by which free finds the magazine. Behind the magazines, the
 *           bins of dirty runs are the cache.
 *
 *               class map    |  2R  |  0   |  0  |  0  |  0  |  0  |  1R  |      1R, 2R: HAK_RUN_65536, HAK_RUN_131072
 *                             \- 128 KiB -/ \-- long, or labelled --/  64 KiB
 *
 *           A longer free run is cut at the high end for sites with long-lived blocks, at the low end otherwise:
 *
 *               | brief | brief | . . . . . free . . . . . | lasts | lasts |       brief blocks leave a run, not holes
 *
 * owner     The run belongs to the block until the free. g_large counts the bytes of all blocks.
 * locks     g_runs.lock.
 * orders    The counter is relaxed. Of two frees of the same run only the first succeeds: a compare-and-swap of the
 *           class-map byte. The byte never stands for more units than the run has: a fork while another thread is
 *           inside leaks units, and hands none out twice.
 * failure   NULL: no memory.
 * not here  Which runs get a site label: entry/slow_path.c.
 */
#ifndef HAK_BLOCKS_LARGE_H
#define HAK_BLOCKS_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/die.h"

/* n bytes at a multiple of align (a power of two), labelled with this site; 0: no label. *zero: the block holds only
 * zeros. */
void *hak_large_alloc(size_t n, size_t align, unsigned site, bool *zero);

/* Takes up to `want` blocks of run class c; returns the number. Only the first block may need fresh pages. */
size_t hak_large_fill(unsigned c, void **out, size_t want);

/* Puts n blocks of run class c back. Reports the first wrong pointer, skips all wrong pointers. */
void hak_large_put(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault);

/* Checks n blocks of run class c that go to the depot: reports a wrong pointer. */
void hak_large_check(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault);

/* Frees the block p without a class, in the run that begins at `unit`; returns the bytes. 0: p is no such block. */
size_t hak_large_free(uint32_t unit, const void *p);

/* Usable bytes of the block at `unit`. */
size_t hak_large_bytes(uint32_t unit);

/* Resizes the block at `unit` to n bytes, in place. False: no room behind the block, or no memory. */
bool hak_large_resize(uint32_t unit, size_t n);

/* Labels a live block without a label with this site: the block has no class from now on. Site 0: no change. */
void hak_large_tell(uint32_t unit, unsigned site);

/* Usable bytes of all large blocks, including blocks in magazines. */
uint64_t hak_large_handed_out(void);

#endif
