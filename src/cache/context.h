/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* context.h: what a thread owns.
 *
 * what      One context per thread: for each class a magazine's floor, top and ceiling, in three arrays, so that one
 *           scaled index reaches each.
 *
 *              slots  guard | p0  p1  p2 ... | .  .  .  .
 *                             ^floor         ^top        ^ceiling
 *              malloc: top > floor, take top[-1]     free: top < ceiling, store at top
 *
 *           The empty context is all zero: floor = top = ceiling, so a thread's first call takes the slow path.
 *           A class is *closed* while its floor is raised above any address and its ceiling lowered to
 *           NULL: each malloc and free of the class takes the slow path. While calls are counted or traced
 *           (tables/calls.h) all classes are closed. While calls are sampled only the floors are raised, to the
 *           negative of the lowest top that has a block, which the sampler (entry/sampled.h) adds to the top. An open
 *           class pays no instruction for either.
 *
 *              floor     slots     every other observer, or closed: 2^63     sampled: 2^64 - (slots + 1)
 *              sampler   top + floor: carries only if sampled and top > slots
 *
 *           A drain of an idle thread (reclaim/drain_idle.c) closes a class and sets its `closed` bit. The kernel's
 *           barrier falls between two instructions of the owner. After the barrier the owner's calls of the class take
 *           the slow path, and at most one fast-path call is under way, which has read top = t or written top = t. For
 *           each value of top read later:
 *
 *              slots | gone: the drain's   | t-1 |   under way:  pop takes slots[t-1] or slots[t], push writes
 *                      ^0            gone^         ^top          slots[t-1] or slots[t]; then t-1 <= top <= t+1
 *
 *              gone <= max(t - 1, 0) <= top       and only the drain accesses slots[0, gone)
 *
 *           The owner's next slow path of the class puts the blocks in [gone, top) back, and the class begins anew.
 * owner     The thread. Other threads may raise a floor, lower a ceiling and read top. g_closed_lock (cache/magazine.h)
 *           guards closed, emptied and the guards of emptied classes.
 * locks     None for the owner, except for a class with its closed bit. The list of contexts: cache/registry.h.
 * orders    Relaxed; a refill publishes top with release, after the slots. visits turns odd before a slow path touches
 *           the context, and even, with release, after.
 * hot path  top, floor and ceiling.
 * failure   hak_context is the empty context if there is no memory for a context, and after the thread's exit hook.
 * not here  Refill and flush: magazine.h.
 */
#ifndef HAK_CACHE_CONTEXT_H
#define HAK_CACHE_CONTEXT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/config.h"
#include "tables/classes.h"

/* The slots [from, end) of a magazine whose blocks no flush has passed yet: cache/magazine.c. None: all of them. */
struct hak_older {
  uint16_t from, end;
};

struct hak_context {
  void **top[HAK_CLASSES];
  void **floor[HAK_CLASSES];
  void **ceiling[HAK_CLASSES];
  uint8_t small_class[HAK_SMALL_MAX / 16 + 1]; /* g_small_class in this thread's colour; in AArch64's reach of 4 KiB */
  uint8_t run_class[HAK_RUN_MAX / 4096 + 1];   /* g_run_class: one instruction nearer */
  void **slots[HAK_CLASSES];      /* NULL: no magazine */
  uint32_t slab[HAK_CLASSES];     /* the thread's current slab; HAK_NO_UNIT (0): none */
  uint16_t capacity[HAK_CLASSES]; /* 2^k - 1 */
  struct hak_older older[HAK_CLASSES];
  uint8_t most_log[HAK_CLASSES];  /* capacity may grow to 2^(most_log + 1) - 1 */
  uint8_t history[HAK_CLASSES];   /* of misses: see cache/magazine.c */
  uint8_t hand;    /* of cache/magazine.c: the class to halve next */
  uint8_t starved; /* misses that found no budget */
  uint8_t passed;  /* slow paths, while slow paths are counted (learn/learner.h) */
  uint8_t version; /* of the g_small_class that small_class was copied from */
  bool in_use;
  uint8_t eyes;                   /* HAK_CALLS_ bits by which floors and ceilings were last set */
  uint32_t run_misses;            /* of cache/magazine.c: the last three run classes that missed, a byte each */
  uint32_t visits;                /* entries and exits of magazine.c's slow paths: odd while the owner is inside */
  uint32_t unsampled;             /* [bytes] brought by refills since the last sample (learn/extra_class.h) */
  size_t small_bytes, all_bytes;  /* [bytes] reserved for magazines of classes up to 1 KiB, and of all */
  uint64_t token;                 /* the thread's number (os/lock.h) */
  uint64_t generation;            /* number of forks when the thread began */
  struct hak_context *next;       /* list of all contexts, oldest first */
  struct hak_context *idle;       /* list of contexts not in use */
  uint64_t touched[HAK_CLASS_WORDS]; /* classes that had a magazine since the thread began */
  uint64_t closed[HAK_CLASS_WORDS];  /* closed for a drain, until the owner's next slow path of the class */
  uint64_t emptied[HAK_CLASS_WORDS]; /* subset of closed: guard = number of drained slots; blocks have no budget */
};
static_assert(sizeof(struct hak_context) <= 5120, "the cost of a thread");

extern HAK_HIDDEN const struct hak_context g_empty_context;
extern HAK_HIDDEN __thread struct hak_context *hak_context;

HAK_INLINE bool hak_has_class(const uint64_t *words, unsigned c) { return hak_load(&words[c / 64]) >> c % 64 & 1; }

/* Class that serves n bytes in this thread; n <= HAK_RUN_MAX. In the empty context 0 for small and run classes. */
HAK_INLINE unsigned hak_context_class(const struct hak_context *x, size_t n) {
  if (n <= HAK_SMALL_MAX) return x->small_class[(n + 15) / 16];
  return n <= HAK_SLAB_MAX ? hak_mid_class_of(n) : x->run_class[(n + 4095) / 4096];
}

/* Takes the block below top, which the class has. The block is read before top is lowered: a signal handler between the
 * two may refill the magazine or free a block, and would store another block there. ThreadSanitizer sees the store. */
HAK_INLINE void *hak_cache_pop(struct hak_context *x, size_t c, void **top) {
  if (HAK_ELIDE_LOCKS) return hak_arch_pop(&x->top[c], top);
  void *p = top[-1];
  hak_store(&x->top[c], top - 1);
  return p;
}

#endif
