/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* depot.h: full magazines on their way between threads.
 *
 * what      A lock-free stack of packs per class (Bonwick and Adams' depot, USENIX 2001; the stack is Treiber's, 1986,
 *           with a tag against re-use). A pack holds pointers; the blocks are never touched.
 *
 *               head [ pack address / 1024 | tag ] -> [ next, counts, 126 pointers ] -> [ ... ] -> 0
 *
 * owner     g_depot (in depot.c). A popped pack belongs to the thread that popped the pack.
 * locks     None: a fork while another thread is inside can lose a pack (the blocks leak), never break the stack.
 * orders    Push is release, pop is acquire. Packs are never unmapped: a stale `next` only makes the swap fail.
 * hot path  No: an operation per half magazine.
 * failure   put takes fewer blocks than offered if there is no memory for a pack.
 * not here  How many blocks the depot may hold: cache/magazine.c.
 */
#ifndef HAK_BLOCKS_DEPOT_H
#define HAK_BLOCKS_DEPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/config.h"

enum { HAK_DEPOT_PACK = 126 }; /* blocks of a full pack: the best number to move at once */

struct hak_depot_pack {
  uint64_t next;  /* address of the next lower pack */
  uint32_t count;
  uint32_t below; /* blocks of all lower packs */
  void *blocks[HAK_DEPOT_PACK];
};

enum { HAK_DEPOT_PACK_SHIFT = 10, HAK_DEPOT_TAG_BITS = 26 };
struct hak_depot_stack {
  uint64_t head; /* 48 - 10 bits of the top pack's address; the other bits are the tag */
} __attribute__((aligned(64)));

struct hak_depot {
  struct hak_depot_stack full[HAK_CLASSES];
  struct hak_depot_stack empty; /* packs without blocks */
};
extern HAK_HIDDEN struct hak_depot g_depot;

/* Moves up to `want` blocks of class c from the depot to out; returns the number. */
size_t hak_depot_take(unsigned c, void **out, size_t want);

/* Moves n blocks into the depot, from the front of the list; returns the number moved. */
size_t hak_depot_put(unsigned c, void *const *blocks, size_t n);

/* Blocks of class c in the depot: exact while no call of put or take runs. Signal-safe. */
size_t hak_depot_blocks(unsigned c);

/* True if p lies in the depot. A pack that moves meanwhile may be missed. Signal-safe. */
bool hak_depot_holds(unsigned c, const void *p);

/* True once a block was put. Until then a question need not touch the depot's pages. */
extern HAK_HIDDEN bool g_depot_used;
static inline bool hak_depot_has(unsigned c) {
  return hak_load(&g_depot_used) && hak_load(&g_depot.full[c].head) >> HAK_DEPOT_TAG_BITS != 0;
}

/* True once a block of class c was put: the tag of the stack's head counts. */
static inline bool hak_depot_had(unsigned c) { return hak_load(&g_depot_used) && hak_load(&g_depot.full[c].head) != 0; }

#endif
