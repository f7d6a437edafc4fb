/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sampled.h: the doors, while calls are sampled.
 *
 * what      Every malloc comes to its slow door, as its mark is raised, and is counted down by its bytes; free does
 *           not. Nearly all are served from the magazine at once. Of some hundred thousand bytes one is sampled: its
 *           block lies where its free is seen, and its stack and bytes go into the table.
 *
 *               malloc -> slow door -> left -= bytes > 0 ? pop                         36 instructions more than off
 *                                              \--- <= 0 ? apart slab | told run | big block, stack ->
 *           profile_samples.h
 *
 *               free -> no class -> slow door -> was it sampled? the row goes, then the block
 *
 *           A realloc that moves, or gives the block other bytes where it lies, is a new block; one that changes
 *           nothing is none.
 * owner     hak_pace, the thread's. A block's row goes before the block: whoever has its address next finds none.
 * locks     None held while the stack is walked, as the unwinder may ask for memory: what it asks for is not sampled.
 * failure   A block that cannot be had apart is served as usual, and not sampled.
 * not here  When calls are sampled: profiling.h. The arithmetic: base/poisson.h.
 */
#ifndef HAK_ENTRY_SAMPLED_H
#define HAK_ENTRY_SAMPLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "cache/context.h"
#include "entry/fast_path.h"
#include "os/die.h"

struct hak_pace {
  int64_t left;      /* bytes to the next sample */
  uint64_t mean;     /* that `left` was drawn with; 0: nothing was yet */
  uint64_t chance;
  const void *frame; /* of the call that is under way */
  bool walks;        /* the thread walks its stack, or begins */
  bool passed;       /* a block was had since this was last cleared */
};
extern HAK_HIDDEN __thread struct hak_pace hak_pace;

/* What a request is counted as: any number that follows from it alone would do, and none may be nothing. */
HAK_INLINE size_t hak_sampled_bytes(size_t n) { return n + 16; }

/* Can the magazine of class c serve the request, and is it not sampled? A class that is shut has no limit. */
HAK_INLINE bool hak_sampled_pops(const struct hak_context *x, unsigned c, size_t n) {
  return hak_pace.left > (int64_t)hak_sampled_bytes(n) && x->top[c] > x->slots[c] && HAK_PEEK(&x->limit[c]) != NULL;
}

HAK_INLINE void *hak_sampled_pop(struct hak_context *x, unsigned c, size_t n) {
  hak_pace.left -= (int64_t)hak_sampled_bytes(n);
  return hak_cache_pop(x, c, x->top[c]);
}

/* The door of malloc, of a call whose frame is in hak_pace. */
void *hak_sampled_malloc(size_t n, const void *site);

/* The same for what only the large or the big box can serve. */
void *hak_sampled_run(size_t n, size_t align, bool *zero, const void *site);

void *hak_sampled_realloc(void *p, size_t n, const void *site);

/* A block that has no class goes. True: it lay apart and went; *error says what was wrong with it. */
bool hak_sampled_free(void *p, enum hak_error *error);

#endif
