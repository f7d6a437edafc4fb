/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* context.h: what a thread owns.
 *
 * what      One context per thread: for every class the magazine's three marks, kept apart by kind so that one
 *           scaled index reaches each.
 *
 *               slots  guard | p0  p1  p2 ... | .  .  .  .
 *                              ^low           ^top        ^limit
 *               malloc: top > low, take top[-1]       free: top < limit, store at top
 *
 *           The empty context is all zero: every magazine is empty and full at once, so a thread's first call takes
 *           the slow door. While calls are watched (tables/calls.h), low is at the end of the address space and limit
 *           at 0: then every call takes the slow door, and else it costs nothing. While they are sampled, only low is.
 *
 *           So does whoever drains an idle thread's class (reclaim/drain_idle.c). A kernel barrier passes in the owner
 *           between two instructions; after them its calls of this class take the slow door, and at most one on the
 *           fast path is under way, which has read top = t or wrote it. With any t that is read later:
 *
 *               slots | gone: the drainer's | t-1 |   under way:  pop takes slots[t-1] or slots[t], push writes
 *                       ^0            gone^         ^top          slots[t-1] or slots[t]; then t-1 <= top <= t+1
 *
 *               gone <= max(t - 1, 0) <= top       and only the drainer looks at slots[0, gone)
 *
 *           The owner's next slow door of this class closes it, with what lies in [gone, top).
 * owner     The thread. Others may raise low and drop limit, and read top; shut, emptied and the guards of emptied
 *           classes are the drain lock's.
 * locks     None for the owner, but where a class is shut. The registry of contexts: entry/thread.c.
 * orders    Relaxed; a refill publishes top with release, after the slots. doors is odd before anything a slow door
 *           does, and released after it.
 * hot path  top, low and limit.
 * failure   hak_ctx is the empty context when there is no memory, and after the thread's exit hook.
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

enum { HAK_CLASS_WORDS = (HAK_CLASSES + 63) / 64 };

struct hak_context {
  void **top[HAK_CLASSES];
  void **low[HAK_CLASSES];
  void **limit[HAK_CLASSES];
  void **slots[HAK_CLASSES];      /* NULL: closed */
  uint32_t slab[HAK_CLASSES];     /* current slab */
  uint16_t capacity[HAK_CLASSES]; /* 2^k - 1 */
  uint8_t most_log[HAK_CLASSES];  /* it may grow to 2^(most_log + 1) - 1 */
  uint8_t history[HAK_CLASSES];   /* of misses: see cache/magazine.c */
  uint8_t small_class[HAK_SMALL_MAX / 16 + 1]; /* g_small_class in this thread's colour */
  uint8_t hand, gap; /* of cache/magazine.c: the class that gives up next, the place of the next flush */
  uint8_t starved; /* misses that found no budget */
  uint8_t passed;  /* slow doors, while they are counted (learn/learner.h) */
  uint8_t version; /* of g_small_class, that small_class is a copy of */
  bool in_use;
  uint8_t eyes;                   /* that look, as the marks were last set by (tables/calls.h) */
  uint32_t doors;                 /* passed by magazines' slow doors, in and out: odd while the owner is inside */
  uint32_t unsampled;             /* bytes that refills brought (learn/extra_class.h) */
  size_t small_bytes, all_bytes;  /* reserved for magazines of classes up to 1 KiB, and of all */
  uint64_t token;                 /* the thread, as os/lock.h names it */
  uint64_t generation;            /* of forks, when the thread began */
  struct hak_context *next;       /* all contexts ever made */
  struct hak_context *idle;       /* the next one that is not in use */
  uint64_t touched[HAK_CLASS_WORDS]; /* classes that have had a magazine since the thread began */
  uint64_t shut[HAK_CLASS_WORDS];    /* that another thread may drain, until the owner comes to their slow door */
  uint64_t emptied[HAK_CLASS_WORDS]; /* of these: the guard counts the slots that are gone; blocks have no budget */
};
static_assert(sizeof(struct hak_context) <= 4096, "a piece of metadata");

extern HAK_HIDDEN const struct hak_context g_empty_context;
extern HAK_HIDDEN __thread struct hak_context *hak_context;

HAK_INLINE bool hak_has_class(const uint64_t *words, unsigned c) { return hak_load(&words[c / 64]) >> c % 64 & 1; }

/* The class that serves n bytes in this thread; n <= HAK_RUN_MAX. 0 in the empty context, for n <= HAK_SMALL_MAX. */
HAK_INLINE unsigned hak_context_class(const struct hak_context *x, size_t n) {
  if (n <= HAK_SMALL_MAX) return x->small_class[(n + 15) / 16];
  return n <= HAK_SLAB_MAX ? hak_mid_class_of(n) : hak_run_class_of(n);
}

#endif
