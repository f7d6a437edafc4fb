/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* meta.h: memory for HAKMEM's own tables.
 *
 * what      Naturally aligned powers of two from 16 B to 8 KiB, carved from chunks that are never given back;
 *           what is returned waits on a list of its size.
 *
 *               chunk: [head][16][  64  ][      512      ] -> cursor ......... end
 *                         \-> the chunk before; the first lies in the library's zero data and has none
 *
 * owner     g_meta (in meta.c); a piece belongs to whoever got it.
 * locks     Its own, the last rank: nothing is called with it held but the kernel.
 * orders    Under the lock.
 * failure   NULL when the kernel gives no memory; nothing changes then.
 * not here  The class map and the unit table, which grow in place: range.h.
 */
#ifndef HAK_TABLES_META_H
#define HAK_TABLES_META_H

#include <stddef.h>

#include "tables/extents.h"

enum { HAK_META_MAX = 8192 };

/* `bytes` (at most HAK_META_MAX) rounded up to a power of two, aligned to itself (at most to a page). Contents
 * undefined. NULL: no memory. */
void *hak_meta_get(size_t bytes);

/* As many bytes as are asked for (at most HAK_META_MAX), at a multiple of 128; never returned. */
void *hak_meta_get_for_good(size_t bytes);

/* Returns a piece; `bytes` as it was asked for. */
void hak_meta_put(void *p, size_t bytes);

/* While free memory is held (retain/rent.h) chunks are longer and their pages fetched ahead: fetches those of the
 * chunks that there are, and begins such a one. */
void hak_meta_reserve(void);

/* Whole pages for a table that has a mapping of its own, all zero; fetched while free memory is held. NULL: no memory.
 * They are not counted here. */
void *hak_meta_map(size_t bytes);

/* Bytes mapped in all, and where. */
size_t hak_meta_bytes(void);
void hak_meta_extents(struct hak_extents *list);

#endif
