/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slow_path.h: entry and exit of the slow paths.
 *
 * what      First and last steps of every slow path: refuse re-entry, do due work (repair after a fork, reclaim), find
 *           the thread's context.
 * owner     hak_self.in_allocator: the thread.
 * orders    Compiler barriers: the only other observer is a signal handler of the same thread.
 * failure   Re-entry is fatal.
 * not here  The slow paths: slow_path.c, resize.c.
 */
#ifndef HAK_ENTRY_SLOW_PATH_H
#define HAK_ENTRY_SLOW_PATH_H

#include "blocks/large.h"
#include "cache/account.h"
#include "entry/due.h"
#include "entry/thread.h"
#include "os/die.h"
#include "os/lock.h"
#include "tables/calls.h"
#include "tables/counters.h"
#include "tables/range.h"
#include "tables/settings.h"
#include "tables/site.h"

/* Returns the thread's context; NULL: none. n: bytes requested; 0: none. */
static inline struct hak_context *hak_slow_enter_for(size_t n, const void *p, const void *site) {
  if (HAK_UNLIKELY(hak_self.in_allocator)) hak_die(HAK_ERROR_reentry, p, 0, site);
  hak_self.in_allocator = 1;
  __asm__ volatile("" ::: "memory");
  if (HAK_UNLIKELY(hak_account_is_due())) hak_due_work(n);
  if (HAK_UNLIKELY(hak_self.first_generation == 0)) hak_self.first_generation = 1 + hak_load(&g_fork.generation);
  return hak_thread_context();
}

static inline struct hak_context *hak_slow_enter(const void *p, const void *site) {
  return hak_slow_enter_for(0, p, site);
}

static inline void hak_slow_leave(void) {
  __asm__ volatile("" ::: "memory");
  hak_self.in_allocator = 0;
}

/* Counts one call under its route, if the setting count_calls is on. */
void hak_slow_note(enum hak_counter_id route);
static inline void hak_slow_count(enum hak_counter_id route) {
  if (HAK_UNLIKELY(!hak_calls_are_unobserved())) hak_slow_note(route);
}

/* Site number for a block of n bytes that no magazine serves. `address`: the call's return address; `frame`: its
 * frame. 0: no site, as the block is short. */
HAK_INLINE unsigned hak_slow_site(size_t n, const void *address, const void *frame) {
  return n < HAK_UNIT_BYTES && !hak_setting(site_all_sizes) ? 0 : hak_site_of(address, frame);
}

/* The class of the block at p; 0: none, or p is no block. */
static inline unsigned hak_slow_class(const void *p) {
  size_t u = hak_range_unit_of(p);
  if (u >= hak_load(&g_range.units)) return 0;
  unsigned c = hak_load(&g_range.map[u]);
  return c != 0 ? c : hak_large_class(p);
}

/* n bytes for a site from blocks/large.h or blocks/big.h; n is above HAK_SLAB_MAX or align above the slabs' alignment.
 * *zero in: zeroed memory is preferred; out: the memory is known to be zero. Does not set errno. */
void *hak_slow_run(size_t n, size_t align, bool *zero, unsigned site);

/* malloc after a failure: asks the program's handler (entry/oom.h) and tries once more. NULL: errno is ENOMEM. */
void *hak_slow_ask(size_t n, const void *site);

/* NULL with errno = ENOMEM, counted: for sizes that no memory could serve. */
void *hak_slow_refuse(void);

/* The slow paths without tracing: for calls that are not traced, or that traced.c has already recorded. align is a
 * power of two. */
void *hak_untraced_malloc(size_t n, const void *site);
void *hak_untraced_calloc(size_t count, size_t size, const void *site);
void *hak_untraced_memalign(size_t align, size_t n, const void *site);
void *hak_untraced_realloc(void *p, size_t n, const void *site);

/* Frees p, not NULL. counts: false for the free inside a realloc, which is not a call of the program. */
void hak_untraced_free(void *p, const void *site, bool counts);

#endif
