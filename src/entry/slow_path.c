/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slow_path.c: the slow paths of malloc and free.
 *
 * what      Each slow path is a short list of steps, each passed at most once: traced, count, large, big, refill (or
 *           flush).
 * owner     A block is the caller's.
 * locks     None of its own; those of src/blocks inside calls.
 * failure   NULL and ENOMEM; a wrong pointer ends the program, after all locks are dropped.
 * not here  realloc, calloc, memalign: resize.c.
 */
#include "entry/slow_path.h"

#include <errno.h>

#include "blocks/big.h"
#include "blocks/guarded.h"
#include "blocks/large.h"
#include "blocks/slab_sampled.h"
#include "cache/magazine.h"
#include "entry/fast_path.h"
#include "entry/guard.h"
#include "entry/heap.h"
#include "entry/oom.h"
#include "entry/sampled.h"
#include "entry/traced.h"
#include "observe/stats_page.h"
#include "reclaim/peak_limit.h"
#include "reclaim/trigger.h"
#include "tables/site.h"
#include "tables/threshold.h"

void hak_slow_note(enum hak_counter_id route) {
  if (hak_load(&g_calls) == HAK_CALLS_UNKNOWN) hak_process_start();
  if (hak_setting(count_calls) != 0) hak_count(route, 1);
}

/* ---- malloc ---- */

static const enum hak_counter_id alloc_counter[] = {
    [HAK_ROUTE_magazine] = HAK_COUNTER_alloc_magazine,
    [HAK_ROUTE_depot] = HAK_COUNTER_alloc_depot,
    [HAK_ROUTE_slab] = HAK_COUNTER_alloc_slab,
};

static const enum hak_counter_id free_counter[] = {
    [HAK_ROUTE_magazine] = HAK_COUNTER_free_magazine,
    [HAK_ROUTE_depot] = HAK_COUNTER_free_depot,
    [HAK_ROUTE_slab] = HAK_COUNTER_free_slab,
};

enum { LONG_LEAST = 512 << 10, LONG_MOST = 32 << 20 }; /* [bytes] range of learnt thresholds */

HAK_INLINE void *find_run(size_t n, size_t align, unsigned site, bool *zero, bool *big) {
  *big = hak_max(n, align) >= hak_threshold();
  void *p = *big ? hak_big_alloc(n, align, site, zero) : NULL;
  if (p != NULL || (*big && (n > HAK_LARGE_MAX || align > HAK_LARGE_MAX))) return p;
  *big = false; /* the range may have memory although mmap failed */
  return hak_large_alloc(n, align, site, zero);
}

static HAK_NOINLINE void note_long(size_t n) {
  if (n >= LONG_LEAST && n <= LONG_MOST) hak_count(HAK_COUNTER_asked_long, 1);
}

void *hak_slow_run(size_t n, size_t align, bool *zero, unsigned site) {
  bool big;
  struct hak_rescue rescue;
  if (HAK_UNLIKELY(hak_load(&g_account.counts) != 0)) note_long(n);
  void *p = find_run(n, align, site, zero, &big);
  if (HAK_UNLIKELY(p == NULL) && hak_trigger_rescue_begin(&rescue, hak_max(n, align))) {
    p = find_run(n, align, site, zero, &big);
    hak_trigger_rescue_end(&rescue, p != NULL);
  }
  if (HAK_LIKELY(p != NULL)) hak_memory_limit_taken(n);
  hak_peak_check();
  if (big) hak_stats_page_changed();
  hak_slow_count(p == NULL ? HAK_COUNTER_alloc_failed : big ? HAK_COUNTER_alloc_big : HAK_COUNTER_alloc_large);
  return p;
}

HAK_INLINE void count_small(const void *p, enum hak_route route) {
  if (HAK_LIKELY(hak_calls_are_unobserved())) return;
  hak_slow_note(p == NULL ? HAK_COUNTER_alloc_failed : alloc_counter[route]);
}

static void *small_block(struct hak_context *x, size_t n, struct hak_fault *fault) {
  enum hak_route route;
  struct hak_rescue rescue;
  unsigned c = x != NULL ? hak_context_class(x, n) : hak_class_of(n);
  void *p = hak_magazine_take(x, c, &route, fault);
  if (HAK_UNLIKELY(p == NULL) && hak_trigger_rescue_begin(&rescue, n)) {
    p = hak_magazine_take(x, c, &route, fault);
    hak_trigger_rescue_end(&rescue, p != NULL);
  }
  hak_peak_check();
  count_small(p, route);
  return p;
}

static void *short_run(struct hak_context *x, size_t n, struct hak_fault *fault) {
  struct hak_rescue rescue;
  unsigned c = hak_run_class_of(n);
  void *p = hak_magazine_take_run(x, c, fault);
  if (HAK_UNLIKELY(p == NULL) && hak_trigger_rescue_begin(&rescue, n)) {
    p = hak_magazine_take_run(x, c, fault);
    hak_trigger_rescue_end(&rescue, p != NULL);
  }
  hak_peak_check();
  hak_slow_count(p == NULL ? HAK_COUNTER_alloc_failed : HAK_COUNTER_alloc_large);
  return p;
}

/* A magazine serves a run, except where its free must be counted for its site (a run with a class has no site).
 * Learnt thresholds are above all runs with a class, so the setting decides. */
static void *serve_run(struct hak_context *x, size_t n, const void *site, struct hak_fault *fault) {
  bool zero = false, brief = n <= HAK_RUN_MAX && n < hak_setting(big_threshold) && !hak_setting(site_all_sizes);
  if (brief && hak_magazine_serves_run(x, hak_run_class_of(n))) return short_run(x, n, fault);
  return hak_slow_run(n, 1, &zero, hak_slow_site(n, site, __builtin_frame_address(0)));
}

void *hak_slow_refuse(void) {
  hak_slow_count(HAK_COUNTER_alloc_failed);
  errno = ENOMEM;
  return NULL;
}

/* Asks the program's handler, then tries once more. */
HAK_NOINLINE void *hak_slow_ask(size_t n, const void *site) {
  if (!hak_oom_begin(n)) return NULL;
  void *p = hak_untraced_malloc(n, site);
  hak_oom_end();
  return p;
}

void *hak_untraced_malloc(size_t n, const void *site) {
  struct hak_fault fault = {HAK_ERROR_none, NULL};
  if (HAK_UNLIKELY(n >= HAK_REQUEST_END)) return hak_slow_refuse();
  struct hak_context *x = hak_slow_enter_for(n, NULL, site);
  void *p = n > HAK_SLAB_MAX ? serve_run(x, n, site, &fault) : small_block(x, n, &fault);
  hak_slow_leave();
  hak_slab_report(&fault, NULL);
  return HAK_LIKELY(p != NULL) ? p : hak_slow_ask(n, site);
}

/* While calls are sampled nearly all of them end in hak_sampled_pop. */
void *hak_slow_malloc(size_t n, const void *site, HAK_FOUND) {
  if (HAK_LIKELY(HAK_PEEK(&g_calls) == HAK_CALLS_UNOBSERVED)) return hak_untraced_malloc(n, site);
  void *p = hak_sampled_pop(x, c, top, n);
  return HAK_LIKELY(p != NULL) ? p : hak_traced_malloc(n, site);
}

void *hak_slow_alloc_at(size_t n, const void *site) {
  void *p = hak_slow_malloc(n, site, NULL, 0, hak_context);
  if (hak_slow_class(p) == 0) return p; /* counted by src/blocks */
  /* A block with a class counts as freed at once: no free of such a block knows the site. */
  unsigned number = hak_site_of(site, __builtin_frame_address(0));
  hak_site_taken(number, hak_max(n, 1));
  hak_site_freed(number, hak_max(n, 1), 0);
  return p;
}

/* ---- free ---- */

static bool is_top(const struct hak_context *x, unsigned c, const void *p) {
  void **top = x != NULL ? x->top[c] : NULL;
  return top != NULL && hak_load(top - 1) == p && hak_magazine_blocks(x, c) != 0; /* 0: a drain took p */
}

static void count_free(const void *p, enum hak_route route) {
  if (!hak_setting(count_calls)) return;
  hak_count(free_counter[route], 1);
  const struct hak_unit *s = hak_range_entry(hak_range_run_of(p));
  hak_count(hak_load(&s->filler) == hak_slab_filler() ? HAK_COUNTER_free_local : HAK_COUNTER_free_remote, 1);
}

static void free_small(unsigned c, void *p, const void *site, bool counts) {
  struct hak_fault fault = {HAK_ERROR_double_free, p};
  struct hak_context *x = hak_slow_enter(p, site);
  bool repeated = is_top(x, c, p);
  if (!repeated) {
    enum hak_route route = hak_magazine_put(x, c, p, &fault);
    if (counts) count_free(p, route);
  }
  hak_slow_leave();
  hak_slab_report(&fault, repeated || fault.p == p ? site : NULL);
}

/* Free of a run with a class. A due reclaim runs at once, as no later call may come for long. */
static void free_short_run(unsigned c, void *p, const void *site, bool counts) {
  struct hak_fault fault = {HAK_ERROR_double_free, p};
  struct hak_context *x = hak_slow_enter(p, site);
  bool repeated = is_top(x, c, p);
  if (!repeated) hak_magazine_put_run(x, c, p, &fault);
  if (counts) hak_slow_count(HAK_COUNTER_free_large);
  if (!repeated && hak_account_is_requested()) hak_trigger_reclaim();
  hak_slow_leave();
  hak_slab_report(&fault, repeated || fault.p == p ? site : NULL);
}

static bool is_inside(uint32_t run, const void *p) {
  if (hak_load(&hak_range_entry(run)->kind) == HAK_UNIT_SLAB) return p != hak_range_address(run);
  const void *block = hak_large_block_of(run, p);
  return block != NULL && block != p;
}

/* The error of a pointer that is not the start of a live block. */
static enum hak_error judge_free(const void *p) {
  uint32_t run = hak_range_run_of(p);
  if (run != HAK_NO_UNIT && is_inside(run, p)) return HAK_ERROR_interior;
  size_t u = hak_range_unit_of(p);
  bool entered = u < hak_load(&g_range.units) && hak_range_pass(u) == u;
  if (entered && hak_load(&hak_range_entry((uint32_t)u)->kind) != HAK_UNIT_HOLE) {
    return HAK_ERROR_released;
  }
  return hak_big_judge(p);
}

static bool free_big(void *p) {
  size_t bytes = hak_big_free(p);
  hak_stats_page_changed();
  hak_trigger_freed_run(bytes);
  return bytes != 0;
}

static bool free_run(struct hak_context *x, void *p, bool counts) {
  uint32_t run = hak_range_run_of(p);
  if (counts) hak_slow_count(run == HAK_NO_UNIT ? HAK_COUNTER_free_big : HAK_COUNTER_free_large);
  if (run == HAK_NO_UNIT) return free_big(p);
  size_t bytes = hak_large_free(run, p);
  if (bytes != 0) hak_trigger_freed_run(bytes);
  if (bytes != 0 && bytes <= HAK_RUN_MAX) hak_magazine_missed_run(x, hak_run_class_of(bytes));
  return bytes != 0;
}

static bool free_guarded(void *p, const void *site) {
  hak_slow_leave(); /* the stack is walked */
  hak_guard_free(p, site);
  return true;
}

/* True: p was a guarded block or in a sampled slab, and is free now. */
static HAK_NOINLINE bool free_sampled(void *p, const void *site) {
  enum hak_error error = HAK_ERROR_none;
  if (hak_guarded_holds(p)) return free_guarded(p, site);
  if (!hak_sampled_free(p, &error)) return false;
  hak_slow_leave();
  if (error != HAK_ERROR_none) hak_die(error, p, 0, site);
  return true;
}

static void free_other(void *p, const void *site, bool counts) {
  struct hak_context *x = hak_slow_enter(p, site);
  if (HAK_UNLIKELY(hak_calls_are_marked()) && free_sampled(p, site)) return;
  bool ok = free_run(x, p, counts);
  enum hak_error error = ok ? HAK_ERROR_none : judge_free(p);
  hak_slow_leave();
  if (!ok) hak_die(error, p, 0, site);
}

void hak_untraced_free(void *p, const void *site, bool counts) {
  unsigned c = hak_slow_class(p);
  if (hak_is_slab_class(c)) free_small(c, p, site, counts);
  else if (c != 0 && (uintptr_t)p % HAK_PAGE_BYTES == 0) free_short_run(c, p, site, counts);
  else free_other(p, site, counts);
}

void hak_slow_free(void *p, const void *site) {
  if (HAK_UNLIKELY(!hak_calls_are_unobserved())) hak_traced_free(p, site);
  else if (p != NULL) hak_untraced_free(p, site, true);
}

/* ---- questions ---- */

/* [bytes] Usable size of a block without a class; 0: p is not the start of a live block. */
static size_t block_bytes(const void *p) {
  uint32_t run = hak_range_run_of(p);
  if (run == HAK_NO_UNIT) return hak_big_bytes(p);
  if (hak_load(&hak_range_entry(run)->kind) == HAK_UNIT_SLAB) return hak_slab_sampled_bytes(p);
  return hak_large_bytes(run, p);
}

/* Ends the program unless p is the start of a handed-out slot. Only while no thread has a magazine, since the bitmap
 * counts blocks in magazines as handed out. */
static HAK_NOINLINE size_t checked_bytes(unsigned c, const void *p, const void *site) {
  struct hak_fault fault = {HAK_ERROR_none, NULL};
  void *block = (void *)(uintptr_t)p;
  hak_slab_check(c, &block, 1, &fault);
  hak_slab_report(&fault, site);
  return g_class[c].bytes;
}

/* Of a pointer that is no block of another kind. Ends the program unless a guarded block begins at p. */
static HAK_NOINLINE size_t guarded_bytes(enum hak_error error, const void *p, const void *site) {
  bool guarded = hak_guarded_holds(p);
  size_t bytes = guarded ? hak_guarded_bytes(p) : 0;
  if (bytes != 0) return bytes;
  if (guarded) hak_guard_tell(error = hak_guarded_judge(p), p, site);
  hak_die(error, p, 0, site);
}

size_t hak_slow_usable(const void *p, const void *site) {
  unsigned c = hak_range_class(p);
  if (hak_is_slab_class(c)) return HAK_UNLIKELY(hak_calls_are_checked()) ? checked_bytes(c, p, site) : g_class[c].bytes;
  if (p == NULL) return 0;
  hak_slow_enter(p, site);
  size_t bytes = block_bytes(p);
  enum hak_error error = bytes != 0 ? HAK_ERROR_none : judge_free(p);
  hak_slow_leave();
  return HAK_LIKELY(bytes != 0) ? bytes : guarded_bytes(error, p, site);
}

bool hak_heap_owns(const void *p) {
  uint32_t run = hak_range_run_of(p);
  bool slab = run != HAK_NO_UNIT && hak_load(&hak_range_entry(run)->kind) == HAK_UNIT_SLAB;
  if (run != HAK_NO_UNIT) return slab || hak_large_block_of(run, p) != NULL;
  if (hak_guarded_holds(p)) return hak_guarded_around(p) != 0;
  hak_slow_enter(p, __builtin_return_address(0));
  bool owns = hak_big_block_of(p) != NULL;
  hak_slow_leave();
  return owns;
}
