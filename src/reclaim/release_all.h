/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* release_all.h: releases all free memory at once.
 *
 * what      For malloc_trim, near a limit, and when there is no memory.
 * locks     Locks of cache, runs and blocks, inside calls.
 * failure   A wrong pointer found in a magazine ends the program.
 * not here  Releases bit by bit: release.h. malloc_trim: entry/heap.c.
 */
#ifndef HAK_RECLAIM_RELEASE_ALL_H
#define HAK_RECLAIM_RELEASE_ALL_H

#include <stddef.h>

/* Empties the magazines of all threads and the depot, and releases all free memory except `pad` bytes of runs and big
 * blocks. Returns the bytes released. */
size_t hak_release_all(size_t pad);

#endif
