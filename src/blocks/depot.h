/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* depot.h: full magazines on their way between threads.
 *
 * what      One lock-free stack of packs per class (Bonwick and Adams' depot, USENIX 2001; the stack is Treiber's,
 *           1986, with a tag against re-use). A pack holds pointers, never touches the blocks.
 *
 *               head [ pack address / 1024 | tag ] -> [ next, count, 126 pointers ] -> [ ... ] -> 0
 *
 * owner     g_depot (in depot.c). A pack that was popped belongs to the thread that popped it.
 * locks     None: a fork can cut a pack off (its blocks leak), never break the stack.
 * orders    Push is release, pop is acquire; packs are never unmapped, so a stale next is only a failed swap.
 * hot path  No; one operation per half magazine.
 * failure   put takes fewer blocks than offered when there is no memory for packs.
 * not here  How much a depot may hold: cache/magazine.c.
 */
#ifndef HAK_BLOCKS_DEPOT_H
#define HAK_BLOCKS_DEPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/config.h"

enum { HAK_DEPOT_PACK = 126 }; /* blocks of a full pack: what moves best at once */

struct hak_depot_pack {
  uint64_t next; /* address of the pack below */
  uint64_t count;
  void *blocks[HAK_DEPOT_PACK];
};

enum { HAK_DEPOT_PACK_SHIFT = 10, HAK_DEPOT_TAG_BITS = 26 };
struct hak_depot_stack {
  uint64_t head;   /* a pack's address needs 48 - 10 bits; the rest of the word is the tag */
  uint64_t blocks; /* in all its packs */
} __attribute__((aligned(64)));

struct hak_depot {
  struct hak_depot_stack full[HAK_CLASSES];
  struct hak_depot_stack empty; /* packs without blocks */
};
extern HAK_HIDDEN struct hak_depot g_depot;

/* Moves up to `want` blocks of class c from the depot to out; how many. */
size_t hak_depot_take(unsigned c, void **out, size_t want);

/* Offers n blocks; how many were taken, from the front. */
size_t hak_depot_put(unsigned c, void *const *blocks, size_t n);

/* Blocks of class c in the depot: exact when no other thread is inside a call. */
size_t hak_depot_blocks(unsigned c);

/* Does p lie in the depot? Packs that move meanwhile may be missed. Signal-safe. */
bool hak_depot_holds(unsigned c, const void *p);

/* Was anything ever put? As long as not, a process need not touch the depot's pages to ask. */
extern HAK_HIDDEN bool g_depot_used;
static inline bool hak_depot_has(unsigned c) { return hak_load(&g_depot_used) && hak_depot_blocks(c) != 0; }

#endif
