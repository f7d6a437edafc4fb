/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* front.h: what the exported names call: the fast paths, in the secure flavour with its checks around them.
 *
 * what      In libhakmem-secure.so each block is longer than asked (room), is dressed before it is handed out (its
 *           state and its canary are written) and undressed before it is freed (both are checked). In every other
 *           library room is the size itself, and each function is the fast path and nothing else.
 *
 *               malloc(n) -> dress(fast path(room(n)))      free(p) -> undress(p): an older block -> fast path
 *
 * hot path  Yes: inlined into the exported functions.
 * failure   As the fast paths; a block that fails a check ends the program.
 * not here  The checks: src/secure. realloc, the usable size and long blocks with them: secured.c.
 */
#ifndef HAK_ENTRY_FRONT_H
#define HAK_ENTRY_FRONT_H

#include "entry/fast_path.h"
#include "entry/secured.h"
#include "secure/secure.h"

/* [bytes] To be asked of the fast path for a block of n bytes. A size that no process has stays one. */
HAK_INLINE size_t hak_front_room(size_t n) { return HAK_SECURE ? hak_secure_room(n) : n; }

/* The same for a block at a multiple of align: a long alignment makes a short block a big one. */
HAK_INLINE size_t hak_front_aligned_room(size_t align, size_t n) {
  return HAK_SECURE && HAK_UNLIKELY(align >= HAK_RUN_MAX) ? hak_secure_long_room(n) : hak_front_room(n);
}

/* p, or NULL, from the fast path or a slow path asked for hak_front_room(n) bytes; align: as asked for, at least 16. */
HAK_INLINE void *hak_front_dress(void *p, size_t n, size_t align) {
  if (HAK_SECURE && HAK_LIKELY(p != NULL)) hak_secure_dress(p, n, align);
  return p;
}

/* As hak_fast_malloc of a short block: a magazine's blocks are of its class, so that the class map is not read. */
HAK_INLINE void *hak_front_brief(size_t n) {
  struct hak_context *x = hak_context;
  unsigned c = x->small_class[(n + HAK_SECURE_CANARY + 15) / 16];
  void **top = hak_cache_top(x, c);
  if (HAK_UNLIKELY(top == NULL)) return hak_secured_malloc(n, __builtin_return_address(0));
  void *p = hak_cache_pop(x, c, top);
  if (HAK_UNLIKELY(!hak_secure_dress_slot(p, c, n))) hak_secure_dress_any(p, n, 16);
  return p;
}

HAK_INLINE void *hak_front_malloc(size_t n) {
  if (!HAK_SECURE) return hak_fast_malloc(n);
  return HAK_LIKELY(n <= HAK_SECURE_BRIEF) ? hak_front_brief(n) : hak_secured_malloc(n, __builtin_return_address(0));
}

HAK_INLINE void *hak_front_memalign(size_t align, size_t n, const void *site) {
  return hak_front_dress(hak_slow_memalign(align, hak_front_aligned_room(align, n), site), n, align);
}

HAK_INLINE void *hak_front_alloc_at(size_t n, const void *site) {
  void *p = hak_slow_alloc_at(hak_front_room(n), site);
  if (HAK_SECURE && p != NULL && n > HAK_SECURE_ZEROED) hak_libc_memset(p, 0, n);
  return hak_front_dress(p, n, 16);
}

HAK_INLINE void hak_front_free(void *p) {
  void *ends = HAK_SECURE ? hak_secure_undress(p, __builtin_return_address(0)) : p;
  if (!HAK_SECURE || HAK_LIKELY(ends != NULL)) hak_fast_free(ends);
  else hak_secured_note_free(p, __builtin_return_address(0));
}

/* Every block of the secure flavour is zero. */
HAK_INLINE void *hak_front_calloc(size_t count, size_t size) {
  size_t n;
  if (!HAK_SECURE) return hak_fast_calloc(count, size);
  return hak_front_malloc(__builtin_mul_overflow(count, size, &n) ? SIZE_MAX : n);
}

HAK_INLINE void *hak_front_realloc(void *p, size_t n) {
  return HAK_SECURE ? hak_secured_realloc(p, n, __builtin_return_address(0)) : hak_fast_realloc(p, n);
}

/* [bytes] Usable size of p. */
HAK_INLINE size_t hak_front_usable(const void *p) {
  return HAK_SECURE ? hak_secured_usable(p, __builtin_return_address(0)) : hak_fast_usable(p);
}

/* Before a free by a function that says how the block was asked for. align 0, or n = SIZE_MAX: not said. */
HAK_INLINE void hak_front_expect(const void *p, size_t n, size_t align) {
  if (HAK_SECURE) hak_secure_expect(p, n, align, __builtin_return_address(0));
}

#endif
