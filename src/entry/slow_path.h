/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slow_path.h: in and out of the slow doors.
 *
 * what      What every slow door does first and last: notice a fork, find the thread's context, refuse re-entry.
 * owner     hak_self.in_allocator, the thread's.
 * orders    Compiler barriers: the only other observer is a signal handler of the same thread.
 * failure   Re-entry is fatal.
 * not here  The doors: slow_path.c, resize.c.
 */
#ifndef HAK_ENTRY_SLOW_PATH_H
#define HAK_ENTRY_SLOW_PATH_H

#include "cache/account.h"
#include "entry/due.h"
#include "entry/thread.h"
#include "os/die.h"
#include "os/lock.h"
#include "tables/calls.h"
#include "tables/counters.h"
#include "tables/settings.h"
#include "tables/site.h"

/* The thread's context, or NULL when it has none. n: what is asked for; 0: nothing. */
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

/* Counts one call under its route, while calls are counted. */
void hak_slow_note(enum hak_counter_id route);
static inline void hak_slow_count(enum hak_counter_id route) {
  if (HAK_UNLIKELY(!hak_calls_are_unobserved())) hak_slow_note(route);
}

/* The site that is told of a block of n bytes that no magazine serves, for a call that returns to `address` and whose
 * frame this is. 0: none, as it is short. */
HAK_INLINE unsigned hak_slow_site(size_t n, const void *address, const void *frame) {
  return n < HAK_UNIT_BYTES && !hak_setting(site_all_sizes) ? 0 : hak_site_of(address, frame);
}

/* n bytes from the large or the big box for this site, n above HAK_SLAB_MAX or align above what slabs give. *zero,
 * before: is zero memory liked better; after: is it known to be zero. No errno. */
void *hak_slow_run(size_t n, size_t align, bool *zero, unsigned site);

/* NULL, errno = ENOMEM, counted: for sizes that no memory could serve. */
void *hak_slow_refuse(void);

/* The doors behind those of fast_path.h, of calls that no trace has or that it has already.
 * align is a power of two. */
void *hak_untraced_malloc(size_t n, const void *site);
void *hak_untraced_calloc(size_t count, size_t size, const void *site);
void *hak_untraced_memalign(size_t align, size_t n, const void *site);
void *hak_untraced_realloc(void *p, size_t n, const void *site);

/* Frees p, which is not NULL; counted as a call, or not when a realloc does it. */
void hak_untraced_free(void *p, const void *site, bool counts);

#endif
