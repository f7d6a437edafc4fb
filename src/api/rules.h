/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rules.h: what the standard and glibc say about arguments, once for all names.
 *
 * what      Checks of alignment and overflow before the fast and slow paths, which need a power of two and a size.
 * hot path  Inlined into the exported functions, so that the call site is the program's.
 * failure   NULL with errno EINVAL or ENOMEM, counted as alloc_failed. A product or sum that overflows becomes
 *           SIZE_MAX, which the slow path refuses with ENOMEM, as every size above the address space.
 * not here  Plain malloc, calloc, realloc and free: entry/fast_path.h has their rules.
 */
#ifndef HAK_API_RULES_H
#define HAK_API_RULES_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "entry/front.h"
#include "os/os.h"
#include "tables/counters.h"
#include "tables/settings.h"

#define HAK_MALLOC_ALIGN 16 /* alignment of every block [bytes] */
#define HAK_ALIGN_MAX (SIZE_MAX / 2 + 1)

static inline void *hak_rules_refused(int error) {
  if (HAK_UNLIKELY(hak_setting(count_calls) != 0)) hak_count(HAK_COUNTER_alloc_failed, 1);
  errno = error;
  return NULL;
}

/* align is a power of two. */
HAK_INLINE void *hak_rules_aligned(size_t align, size_t n) {
  if (align <= HAK_MALLOC_ALIGN) return hak_front_malloc(n);
  return hak_front_memalign(align, n, __builtin_return_address(0));
}

HAK_INLINE void *hak_rules_aligned_alloc(size_t align, size_t n) {
  if (HAK_UNLIKELY(!hak_is_power_of_two(align))) return hak_rules_refused(EINVAL);
  return hak_rules_aligned(align, n);
}

HAK_INLINE void *hak_rules_memalign(size_t align, size_t n) {
  if (HAK_UNLIKELY(align > HAK_ALIGN_MAX)) return hak_rules_refused(EINVAL);
  if (align > 1) align = (size_t)2 << hak_highest_bit(align - 1);
  return hak_rules_aligned(align, n);
}

/* As glibc: errno is ENOMEM on ENOMEM and unchanged otherwise. */
HAK_INLINE int hak_rules_posix_memalign(void **out, size_t align, size_t n) {
  int saved = errno;
  HAK_KEEP_FRAME();
  bool valid = align % sizeof(void *) == 0 && hak_is_power_of_two(align);
  void *p = HAK_LIKELY(valid) ? hak_rules_aligned(align, n) : hak_rules_refused(EINVAL);
  if (HAK_UNLIKELY(p == NULL && valid)) return ENOMEM;
  errno = saved;
  if (HAK_UNLIKELY(p == NULL)) return EINVAL;
  *out = p;
  return 0;
}

HAK_INLINE void *hak_rules_reallocarray(void *p, size_t count, size_t size) {
  size_t n;
  if (HAK_UNLIKELY(__builtin_mul_overflow(count, size, &n))) n = SIZE_MAX;
  return hak_front_realloc(p, n);
}

HAK_INLINE void *hak_rules_valloc(size_t n) {
  return hak_front_memalign(hak_os_page_bytes(), n, __builtin_return_address(0));
}

HAK_INLINE void *hak_rules_pvalloc(size_t n) {
  size_t page = hak_os_page_bytes();
  size_t most = SIZE_MAX - page + 1;
  return hak_front_memalign(page, n <= most ? hak_round_up(n, page) : SIZE_MAX, __builtin_return_address(0));
}

#endif
