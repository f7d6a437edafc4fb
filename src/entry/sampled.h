/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sampled.h: the slow paths while calls are sampled.
 *
 * what      Each malloc takes the slow path, as the floors are raised, and counts its bytes down; a free of a block
 *           with a class stays fast. Nearly all requests are served from the magazine at once, whose class, top and
 *           context the fast path hands on in registers. Per `profile_bytes`
 *           requested, one block on average is sampled: it is placed such that its free takes the slow path, and its
 *           stack and bytes go into the table.
 *
 *              malloc -> slow path -> left -= bytes >= 0 ? pop             11 instructions more than without sampling
 *                                              \--- < 0 ? sampled slab | run with a site | big block;
 *                                                         stack -> record/profile_samples.h
 *
 *              free -> no class -> slow path -> sampled? remove the row, then free the block
 *
 *           A block that is freed before its thread's next request is brief (temporary): `left` is then what it was.
 *
 *           A realloc that moves the block, or changes its usable size in place, counts as a new block; any other
 *           realloc counts as nothing.
 * owner     hak_pace: the thread. A block's row is removed before the block is freed: the next owner of the address
 *           finds no row.
 * locks     None held while the stack is walked, which touches the program's memory.
 * failure   If the block cannot be placed for sampling, the call is served as usual and not sampled.
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
  int64_t left;      /* bytes before the next sample, guarded block or look at the settings, whichever is nearest */
  int64_t drawn;     /* left, when drawn */
  int64_t to_sample, to_guard; /* bytes from there; NEVER: not asked for */
  uint64_t set, guard_mean;    /* profile_bytes and guard_bytes at the last draw; 0: not asked for */
  uint64_t mean;     /* of to_sample, as drawn: less than `set` for the first samples of the process */
  uint64_t chance;   /* 0: no draw yet */
  const void *frame; /* of the current call */
  const void *newest;  /* the block sampled last, and `left` then: unchanged until the next request */
  int64_t newest_left;
  bool walks;        /* the thread is walking its stack */
  bool guard;        /* the request that was counted last shall be guarded */
  bool passed;       /* a block was handed out since the last clear */
};
extern HAK_HIDDEN __thread struct hak_pace hak_pace;

/* [bytes] Weight of a request: any function of n would do, but not 0 for any n. */
HAK_INLINE size_t hak_sampled_bytes(size_t n) { return n + 16; }

/* False: the magazine of class c, whose top was read, is empty or closed. What is observed besides needs no test, as it
 * closes all classes. */
HAK_INLINE bool hak_sampled_has(struct hak_context *x, size_t c, void **top) {
  uintptr_t below;
  return HAK_LIKELY(__builtin_add_overflow((uintptr_t)HAK_PEEK(&x->floor[c]), (uintptr_t)top, &below));
}

/* A block from the magazine of class c, whose top was read. NULL: there is none, or the request is to be sampled. */
HAK_INLINE void *hak_sampled_pop(struct hak_context *x, size_t c, void **top, size_t n) {
  if (!hak_sampled_has(x, c, top)) return NULL;
  hak_pace.left -= (int64_t)hak_sampled_bytes(n);
  if (HAK_UNLIKELY(hak_pace.left < 0)) {
    __asm__ volatile("" ::: "memory"); /* lets the compiler subtract in memory */
    hak_pace.left += (int64_t)hak_sampled_bytes(n);
    return NULL;
  }
  void *p = hak_cache_pop(x, c, top);
  if (p == NULL) __builtin_unreachable(); /* lets the compiler drop the caller's test for NULL */
  return p;
}

/* malloc of a call whose frame is in hak_pace. */
void *hak_sampled_malloc(size_t n, const void *site);

/* The same for a request that the magazine may serve: a block was handed out. */
void *hak_sampled_block(size_t n, const void *site, HAK_FOUND);

/* The same for blocks that only blocks/large.h or blocks/big.h can serve. */
void *hak_sampled_run(size_t n, size_t align, bool *zero, const void *site);

void *hak_sampled_realloc(void *p, size_t n, const void *site);

/* Free of a block without a class: removes the row, if any. True: the block lay in a sampled slab and is free, or is
 * wrong by *error. */
bool hak_sampled_free(void *p, enum hak_error *error);

#endif
