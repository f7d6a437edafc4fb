/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fast_path.h: allocate, free, resize.
 *
 * what      The fast paths, inlined into each exported function, and the slow paths behind them.
 *
 *              malloc(n):  class = table[n]        top > floor   ? take top[-1]  : slow path
 *              free(p):    class = map[p's unit]   top < ceiling ? store at top  : slow path
 *
 * owner     A block is the caller's from return to free.
 * locks     None on the fast path.
 * orders    None on the fast path: a magazine belongs to its thread.
 * hot path  This file: at most 15 instructions for malloc up to 1 KiB, 21 up to 256 KiB, 18 for free
 *           (tests/instructions/golden.txt). The fast path keeps no count.
 * failure   NULL with errno = ENOMEM; a wrong pointer ends the program.
 * not here  The exported names: src/api.
 */
#ifndef HAK_ENTRY_FAST_PATH_H
#define HAK_ENTRY_FAST_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/bytes.h"
#include "cache/context.h"
#include "tables/calls.h"
#include "tables/classes.h"
#include "tables/range.h"
#include "tables/settings.h"

/* The slow paths. `site` is the return address in the program. With nothrow, C++'s operator delete jumps to its slow
 * path as free does. top, c, x: the top that was found, of class c in context x; NULL, 0 and any context if n has no
 * class: the sampler takes the block there (entry/sampled.h). They are last, so that they are in registers already. */
#define HAK_SLOW __attribute__((nothrow))
#define HAK_FOUND void **top, size_t c, struct hak_context *x
HAK_SLOW void *hak_slow_malloc(size_t n, const void *site, HAK_FOUND);
HAK_SLOW void hak_slow_free(void *p, const void *site);
HAK_SLOW void *hak_slow_realloc(void *p, size_t n, const void *site, HAK_FOUND); /* top, c, x: of a NULL p */
HAK_SLOW void *hak_slow_calloc(size_t count, size_t size, const void *site);

/* [bytes] Usable size of a block. 0 for NULL; a pointer that is not the start of a live block is fatal. */
size_t hak_slow_usable(const void *p, const void *site);

void *hak_slow_alloc_at(size_t n, const void *site);
/* align is a power of two. */
void *hak_slow_memalign(size_t align, size_t n, const void *site);
/* Stores top after a push: a drain may read the slots below top. On the machine the order of the program is enough, as
 * the kernel's barrier falls between two instructions; ThreadSanitizer does not know the barrier. */
#define HAK_POKE(p, v) (HAK_ELIDE_LOCKS ? hak_store(p, v) : hak_store_release(p, v))

/* False: class c has no block, or is closed: take the slow path. *top: as it was read. */
HAK_INLINE bool hak_cache_has(struct hak_context *x, size_t c, void ***top) {
  *top = HAK_PEEK(&x->top[c]);
  return HAK_LIKELY(*top > HAK_PEEK(&x->floor[c]));
}

/* The magazine's top if class c has a block, else NULL. */
HAK_INLINE void **hak_cache_top(struct hak_context *x, unsigned c) {
  void **top;
  return hak_cache_has(x, c, &top) ? top : NULL;
}

/* What a slow path is told of the magazine for n. */
struct hak_found {
  void **top;
  size_t c;
  struct hak_context *x;
};

/* True: *block was popped. False: *found is for the slow path. */
HAK_INLINE bool hak_fast_pop(size_t n, struct hak_found *found, void **block) {
  struct hak_context *x = hak_context;
  void **top = NULL;
  size_t c = 0;
  if (HAK_LIKELY(n <= HAK_SMALL_MAX)) {
    c = x->small_class[(n + 15) / 16];
    if (HAK_LIKELY(hak_cache_has(x, c, &top))) return *block = hak_cache_pop(x, c, top), true;
  } else if (HAK_LIKELY(n <= HAK_SLAB_MAX)) {
    c = hak_mid_class_of(n);
    if (HAK_LIKELY(hak_cache_has(x, c, &top))) return *block = hak_cache_pop(x, c, top), true;
  } else if (n <= HAK_RUN_MAX) {
    c = x->run_class[(n + 4095) / 4096];
    if (HAK_LIKELY(hak_cache_has(x, c, &top))) return *block = hak_cache_pop(x, c, top), true;
  }
  *found = (struct hak_found){top, c, x};
  return false;
}

/* malloc with the caller's slow path (operator new has a slow path that does not return NULL). */
HAK_INLINE void *hak_fast_malloc_or(size_t n, void *(*slow_path)(size_t, const void *, HAK_FOUND)) {
  struct hak_found found;
  void *block;
  if (HAK_LIKELY(hak_fast_pop(n, &found, &block))) return block;
  return slow_path(n, __builtin_return_address(0), found.top, found.c, found.x);
}

HAK_INLINE void *hak_fast_malloc(size_t n) { return hak_fast_malloc_or(n, hak_slow_malloc); }

HAK_INLINE void hak_fast_free(void *p) {
  const bool first = HAK_ARCH_THREAD_FIRST && HAK_STATIC_TLS;
  struct hak_context *x = first ? hak_context : NULL;
  const struct hak_range *range = HAK_ARCH_NEAR(&g_range);
  size_t u = ((uintptr_t)p - HAK_PEEK(&range->base)) >> HAK_UNIT_SHIFT;
  if (HAK_LIKELY(u < HAK_PEEK(&range->units))) {
    unsigned c = HAK_PEEK(&range->map[u]);
    if (!first) {
      x = HAK_STATIC_TLS ? HAK_ARCH_OF_THREAD(hak_context, HAK_PEEK(&range->context_at)) : hak_context;
    }
    void **top = HAK_PEEK(&x->top[c]);
    if (HAK_LIKELY(top < HAK_PEEK(&x->ceiling[c]) && HAK_PEEK(top - 1) != p)) {
      *top = p;
      HAK_POKE(&x->top[c], top + 1);
      return;
    }
  }
  hak_slow_free(p, __builtin_return_address(0));
}

HAK_INLINE void *hak_fast_calloc(size_t count, size_t size) {
  size_t n;
  if (HAK_UNLIKELY(__builtin_mul_overflow(count, size, &n) || n > HAK_SMALL_MAX)) {
    return hak_slow_calloc(count, size, __builtin_return_address(0));
  }
  struct hak_context *x = hak_context;
  unsigned c = x->small_class[(n + 15) / 16];
  void **top = hak_cache_top(x, c);
  if (HAK_UNLIKELY(top == NULL)) return hak_slow_calloc(count, size, __builtin_return_address(0));
  return hak_libc_memset(hak_cache_pop(x, c, top), 0, n);
}

/* A block stays in place if its class would serve n as well. One slow path, so that a machine that keeps the return
 * address in a register saves it there alone. */
HAK_INLINE void *hak_fast_realloc(void *p, size_t n) {
  struct hak_found found = {NULL, 0, NULL};
  void *block;
  if (p == NULL) {
    if (HAK_LIKELY(hak_fast_pop(n, &found, &block))) return block;
  } else {
    size_t u = hak_range_unit_of(p);
    if (HAK_LIKELY(u < HAK_PEEK(&g_range.units) && hak_class_fits(HAK_PEEK(&g_range.map[u]), n))) {
      if (HAK_LIKELY(hak_calls_are_unobserved())) return p;
    }
  }
  return hak_slow_realloc(p, n, __builtin_return_address(0), found.top, found.c, found.x);
}

/* [bytes] Usable size of p. */
HAK_INLINE size_t hak_fast_usable(const void *p) {
  unsigned c = hak_range_class(p);
  if (HAK_LIKELY(hak_is_slab_class(c) && hak_calls_are_unobserved())) return g_class[c].bytes;
  return hak_slow_usable(p, __builtin_return_address(0));
}

#endif
