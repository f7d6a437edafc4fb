/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* resize.c: calloc, realloc, memalign.
 *
 * what      Made of malloc and free, and of facts that src/blocks knows: whether memory is zero, whether a block can
 *           grow in place, how a block is aligned.
 * owner     A block is the caller's; if realloc fails, the old block still is.
 * locks     None of its own.
 * failure   NULL and ENOMEM.
 * not here  realloc within a class: fast_path.h.
 */
#include <errno.h>

#include "blocks/big.h"
#include "blocks/large.h"
#include "entry/fast_path.h"
#include "entry/heap.h"
#include "entry/oom.h"
#include "entry/sampled.h"
#include "entry/slow_path.h"
#include "entry/traced.h"
#include "observe/stats_page.h"
#include "os/os.h"
#include "reclaim/peak_limit.h"
#include "reclaim/trigger.h"
#include "tables/threshold.h"

/* malloc for callers that are on a slow path already. */
static void *block(size_t n, const void *site) {
  struct hak_context *x = hak_context;
  unsigned c = n <= HAK_RUN_MAX ? hak_context_class(x, n) : 0;
  void **top;
  if (hak_cache_has(x, c, &top)) return hak_cache_pop(x, c, top);
  return HAK_UNLIKELY(hak_calls_are_sampled()) ? hak_sampled_block(n, site, top, c, x) : hak_untraced_malloc(n, site);
}

/* A block that magazines cannot serve. */
HAK_INLINE void *long_block(size_t n, size_t align, bool *zero, const void *site) {
  if (HAK_UNLIKELY(hak_calls_are_sampled())) return hak_sampled_run(n, align, zero, site);
  hak_slow_enter(NULL, site);
  void *p = hak_slow_run(n, align, zero, hak_slow_site(n, site, __builtin_frame_address(0)));
  hak_slow_leave();
  return p;
}

/* ---- calloc ---- */

static void *ask_for_zero_run(size_t n, const void *site);

/* A run from a magazine is cleared. A run that src/blocks knows to be zero is not. */
static void *zero_run(size_t n, const void *site) {
  bool zero = !hak_holds_all();
  struct hak_context *x = hak_context;
  unsigned c = n <= HAK_RUN_MAX ? hak_run_class_of(n) : 0;
  void **top = hak_cache_top(x, c);
  if (top != NULL) return hak_libc_memset(hak_cache_pop(x, c, top), 0, n);
  void *p = long_block(n, 1, &zero, site);
  if (HAK_UNLIKELY(p == NULL)) return ask_for_zero_run(n, site);
  return zero ? p : hak_libc_memset(p, 0, n);
}

static HAK_NOINLINE void *ask_for_zero_run(size_t n, const void *site) {
  if (!hak_oom_begin(n)) return NULL;
  void *p = zero_run(n, site);
  hak_oom_end();
  return p;
}

void *hak_untraced_calloc(size_t count, size_t size, const void *site) {
  size_t n;
  if (__builtin_mul_overflow(count, size, &n) || n >= HAK_REQUEST_END) return hak_slow_refuse();
  if (n > HAK_SLAB_MAX) return zero_run(n, site);
  void *p = block(n, site);
  return p == NULL ? NULL : hak_libc_memset(p, 0, n);
}

void *hak_slow_calloc(size_t count, size_t size, const void *site) {
  if (HAK_LIKELY(hak_calls_are_unobserved())) return hak_untraced_calloc(count, size, site);
  return hak_traced_calloc(count, size, site);
}

/* ---- memalign ---- */

/* p, of n bytes, or NULL: in the secure flavour zeroed unless it is known to be zero. */
HAK_INLINE void *without_past(void *p, size_t n, bool zero) {
  return HAK_SECURE && p != NULL && !zero ? hak_libc_memset(p, 0, n) : p;
}

static HAK_NOINLINE void *ask_for_aligned(size_t align, size_t n, const void *site) {
  if (!hak_oom_begin(n)) return NULL;
  void *p = hak_untraced_memalign(align, n, site);
  hak_oom_end();
  return p;
}

void *hak_untraced_memalign(size_t align, size_t n, const void *site) {
  bool zero = HAK_SECURE && !hak_holds_all();
  if (n >= HAK_REQUEST_END || align >= HAK_REQUEST_END) return hak_slow_refuse();
  n = hak_max(n, 1);
  unsigned c = hak_class_aligned(n, align);
  if (c != 0) return block(g_class[c].bytes, site);
  bool run = n <= HAK_RUN_MAX && n < hak_threshold();
  if (run && align <= HAK_PAGE_BYTES) return without_past(block(hak_max(n, HAK_SLAB_MAX + 1), site), n, false);
  void *p = long_block(n, align, &zero, site);
  return HAK_LIKELY(p != NULL) ? without_past(p, n, zero) : ask_for_aligned(align, n, site);
}

void *hak_slow_memalign(size_t align, size_t n, const void *site) {
  if (HAK_LIKELY(hak_calls_are_unobserved())) return hak_untraced_memalign(align, n, site);
  return hak_traced_memalign(align, n, site);
}

/* ---- realloc ---- */

enum {
  KEEP_SHIFT = 1, /* a run stays in place if at least half of its bytes are requested */
  TRIM_SHIFT = 3  /* a slab's block stays if at most an eighth is given up: programs shrink buffers to save memory */
};

static bool resize_large(uint32_t run, const void *p, size_t have, size_t n) {
  size_t now = n <= have || n < hak_threshold() ? hak_large_resize(run, p, have, n) : 0;
  if (now != 0 && now < have) hak_trigger_freed_run(have - now);
  return now != 0;
}

/* Resizes a run or a big block in place, or moves its pages. NULL: the block must be copied. */
static void *resize_run(void *p, size_t have, size_t n) {
  uint32_t run = hak_range_run_of(p);
  if (n <= HAK_SLAB_MAX && n < have >> KEEP_SHIFT) return NULL;
  if (run != HAK_NO_UNIT) return resize_large(run, p, have, n) ? p : NULL;
  if (n < hak_threshold() && n < have >> KEEP_SHIFT) return NULL;
  void *q = hak_big_resize(p, n);
  hak_peak_check();
  hak_stats_page_changed();
  return q;
}

/* True if n bytes fit and a new block would save too little to pay for the copy. A block of the same size saves
 * nothing, even if of a different colour's class. */
static bool slab_block_stays(size_t have, size_t n) {
  return n <= have && (have - n <= have >> TRIM_SHIFT || g_class[hak_class_of(n)].bytes == have);
}

static void *resize_here(void *p, size_t have, size_t n, const void *site) {
  if (have <= HAK_SLAB_MAX) return slab_block_stays(have, n) ? p : NULL;
  hak_slow_enter(p, site);
  void *q = resize_run(p, have, n);
  hak_slow_leave();
  return q;
}

static void give_up(void *p, const void *site) {
  if (hak_calls_are_observed()) hak_untraced_free(p, site, false);
  else hak_fast_free(p);
}

static bool is_big(const void *p) { return hak_range_unit_of(p) >= hak_load(&g_range.units); }

static void *shed(void *p, size_t bytes, const void *site) {
  hak_slow_enter(p, site);
  void *rest = hak_big_shed(p, bytes);
  hak_slow_leave();
  return rest;
}

/* Copies a big block and unmaps each part right after its copy: else the block would be resident twice. No part is
 * cached, as the reason for the failed mremap would pass to the next owner. Returns the rest to be freed, or NULL. */
static void *copy_big(char *to, void *p, size_t have, const void *site) {
  enum { STEP = 4 << 20 };
  for (size_t n; have != 0; have -= n, to += n) {
    n = hak_min(have, STEP);
    hak_libc_memcpy(to, p, n);
    void *rest = shed(p, n, site);
    if (rest == p) return hak_libc_memcpy(to, p, have), p;
    p = rest;
  }
  return NULL;
}

/* Outside the slow path: the program may have protected pages of the block, with a SIGSEGV handler that allocates. */
static void copy_away(void *q, void *p, size_t have, size_t n, const void *site) {
  if (n > have && is_big(p)) p = copy_big(q, p, have, site);
  else hak_libc_memcpy(q, p, hak_min(have, n));
  if (p != NULL) give_up(p, site);
}

/* No handler is asked, and errno stays. */
static void *muted_block(size_t n, const void *site) {
  int saved = errno;
  uint64_t asked = hak_oom_mute();
  void *q = block(n, site);
  hak_oom_unmute(asked);
  errno = saved;
  return q;
}

/* As in glibc, a block that shrinks stays in place if there is no memory for a smaller block. */
static void *move_to_shorter(void *p, size_t have, size_t n, const void *site) {
  void *q = muted_block(n, site);
  if (q == NULL) return p;
  copy_away(q, p, have, n, site);
  return q;
}

/* Bytes to take for n bytes that outgrew a block of `have` bytes, where blocks are cut in pages, which leave no other
 * room: those of the class, beyond classes an eighth more, so that growth by small steps copies seldom. No more than
 * blocks of pages have: units would add to it. */
static size_t with_room(size_t have, size_t n) {
  bool grows = have > HAK_SLAB_MAX && n <= HAK_PAGED_MAX && hak_calls_are_unobserved();
  if (!grows) return n;
  if (n <= HAK_RUN_MAX) {
    size_t bytes = g_class[hak_run_class_of(n)].bytes;
    return HAK_SECURE && bytes >= hak_threshold() ? n : bytes; /* a big block needs more behind: secure/secure.h */
  }
  return hak_max(hak_min((n + n / 8) & -hak_os_page_bytes(), HAK_PAGED_MAX), n);
}

/* The program's handler is asked for n bytes, not for room. */
static void *longer_block(size_t have, size_t n, const void *site) {
  size_t room = with_room(have, n);
  void *q = room != n ? muted_block(room, site) : NULL;
  return q != NULL ? q : block(n, site);
}

static void *move_block(void *p, size_t have, size_t n, const void *site) {
  if (n <= have) return move_to_shorter(p, have, n, site);
  void *q = longer_block(have, n, site);
  if (q != NULL) copy_away(q, p, have, n, site);
  return q;
}

void *hak_untraced_realloc(void *p, size_t n, const void *site) {
  if (p == NULL) return block(n, site);
  if (n == 0) {
    hak_slow_count(HAK_COUNTER_alloc_in_place);
    hak_untraced_free(p, site, false);
    return NULL;
  }
  size_t have = hak_slow_usable(p, site);
  if (n >= HAK_REQUEST_END) return hak_slow_refuse();
  void *q = resize_here(p, have, n, site);
  if (q == NULL) return move_block(p, have, n, site);
  hak_slow_count(HAK_COUNTER_alloc_in_place);
  return q;
}

/* True if p has a class that serves n bytes, and no observer is told: sampling counts no such call. */
static bool stays_unseen(const void *p, size_t n) {
  unsigned eyes = hak_load(&g_calls);
  return eyes != HAK_CALLS_UNKNOWN && !hak_calls_see_frees(eyes) && hak_class_fits(hak_range_class(p), n);
}

/* realloc(NULL, n): as hak_slow_malloc. */
static void *fresh(size_t n, const void *site, HAK_FOUND) {
  if (HAK_LIKELY(HAK_PEEK(&g_calls) == HAK_CALLS_UNOBSERVED)) return block(n, site);
  void *p = hak_sampled_pop(x, c, top, n);
  return HAK_LIKELY(p != NULL) ? p : hak_traced_realloc(NULL, n, site);
}

void *hak_slow_realloc(void *p, size_t n, const void *site, HAK_FOUND) {
  if (p == NULL) return fresh(n, site, top, c, x);
  if (HAK_LIKELY(hak_calls_are_unobserved())) return hak_untraced_realloc(p, n, site);
  return stays_unseen(p, n) ? p : hak_traced_realloc(p, n, site);
}
