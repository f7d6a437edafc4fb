/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* meta.h: memory for HAKMEM's own tables.
 *
 * what      Naturally aligned powers of two from 16 B to 8 KiB, carved from chunks that are never unmapped. A returned
 *           piece goes on the free list of its size.
 *
 *               chunk: [head][16][  64  ][      512      ] -> cursor ......... end
 *                         \-> the chunk before; the first chunk lies in the library's zero data and has no head
 *
 * owner     g_meta (in meta.c); a piece belongs to the caller that got it.
 * locks     Its own, of the last rank: with the lock held only the kernel is called.
 * orders    Under the lock.
 * failure   NULL when the kernel gives no memory; nothing changes then.
 * not here  The class map and the unit table, which grow in place: range.h.
 */
#ifndef HAK_TABLES_META_H
#define HAK_TABLES_META_H

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "tables/extents.h"

enum { HAK_META_MAX = 8192 };

/* The head of a chunk, and the address of the newest chunk, 0 if none was mapped. Read from outside, too:
 * cli/hakmem/reading/heap.py. */
struct hak_meta_chunk {
  uintptr_t before;
  size_t bytes;
};
extern HAK_HIDDEN uintptr_t g_meta_newest;
enum { HAK_META_OWN_BYTES = 32 << 10 };
extern HAK_HIDDEN char g_meta_first[HAK_META_OWN_BYTES];

/* Returns `bytes` (at most HAK_META_MAX) rounded up to a power of two, aligned to this power (at most to a page).
 * Contents undefined. NULL: no memory. */
void *hak_meta_get(size_t bytes);

/* Returns exactly `bytes` (at most HAK_META_MAX), aligned to 128; the piece is never put back. NULL: no memory. */
void *hak_meta_get_for_good(size_t bytes);

/* Puts a piece back; `bytes` as passed to hak_meta_get. */
void hak_meta_put(void *p, size_t bytes);

/* For hak_holds_all (hold.h), under which chunks are longer and populated when mapped: populates the existing chunks,
 * and starts a new chunk of this kind. */
void hak_meta_reserve(void);

/* Maps whole zero pages for a table with a mapping of its own, populated if hak_holds_all. NULL: no memory.
 * hak_meta_bytes does not count these pages. */
void *hak_meta_map(size_t bytes);

/* Bytes of all chunks, and where the chunks lie. */
size_t hak_meta_bytes(void);
void hak_meta_extents(struct hak_extents *list);

#endif
