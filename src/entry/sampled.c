/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sampled.c: the slow paths while calls are sampled.
 *
 * what      See sampled.h.
 */
#include "entry/heap.h"
#include "entry/sampled.h"

#include "base/poisson.h"
#include "blocks/large.h"
#include "blocks/slab_sampled.h"
#include "cache/magazine.h"
#include "entry/guard.h"
#include "entry/slow_path.h"
#include "observe/stats.h"
#include "os/os.h"
#include "reclaim/peak_limit.h"
#include "record/profile_backtrace.h"
#include "record/profile_samples.h"
#include "record/python_frames.h"

__thread struct hak_pace hak_pace;

/* ---- choice ---- */

#define NEVER (INT64_MAX / 2)

static int64_t draw(uint64_t mean) { return mean != 0 ? (int64_t)hak_poisson_gap(&hak_pace.chance, mean) : NEVER; }

static uint64_t set_mean(void) { return hak_setting(profile) != 0 ? hak_setting(profile_bytes) : 0; }

static void draw_sample(void) {
  hak_pace.set = set_mean();
  hak_pace.mean = hak_samples_mean(hak_pace.set);
  hak_pace.to_sample = draw(hak_pace.mean);
}

static void draw_guard(void) {
  hak_pace.guard_mean = hak_setting(guard_bytes);
  hak_pace.to_guard = draw(hak_pace.guard_mean);
}

/* Draws anew what was set since the last draw. */
static void heed_means(void) {
  if (hak_pace.set != set_mean()) draw_sample();
  if (hak_pace.guard_mean != hak_setting(guard_bytes)) draw_guard();
}

/* [bytes] The settings are looked at again after so much, however far the next sample is. Readers of a profile are told
 * that a few means may go unseen: the least mean that a new setting begins with, and up to four of these while samples
 * are rare, as each look costs some 100 instructions. */
static int64_t look_after(void) {
  return (int64_t)hak_min(hak_max(hak_pace.mean / 64, HAK_DENSE_LEAST), 4 * HAK_DENSE_LEAST);
}

static void set_left(void) {
  int64_t next = hak_pace.to_sample < hak_pace.to_guard ? hak_pace.to_sample : hak_pace.to_guard, look = look_after();
  hak_pace.left = hak_pace.drawn = (next < look ? next : look) - 1; /* the request with that byte leaves less than 0 */
}

/* Seeds: threads have different tokens; the clock tells a thread from an earlier thread with the same token. */
static HAK_NOINLINE void begin_sampling(void) {
  hak_pace.chance = (hak_os_random() ^ hak_self_token() * 0x9e3779b97f4a7c15u ^ hak_os_now_ns()) | 1;
  draw_sample();
  draw_guard();
  set_left();
}

/* Counts a request. Returns 0: not sampled, else the number of requests that the sampled block stands for. */
static double count_request(size_t n) {
  size_t bytes = hak_sampled_bytes(n);
  hak_pace.passed = true;
  hak_pace.guard = false;
  if (hak_pace.walks || !hak_calls_are_sampled()) return 0;
  if (HAK_UNLIKELY(hak_pace.chance == 0)) begin_sampling();
  hak_pace.left -= (int64_t)bytes;
  if (hak_pace.left >= 0) return 0;
  int64_t passed = hak_pace.drawn - hak_pace.left;
  hak_pace.to_sample -= passed;
  hak_pace.to_guard -= passed;
  heed_means();
  bool sample = hak_pace.to_sample <= 0;
  hak_pace.guard = hak_pace.to_guard <= 0;
  double weight = sample ? 1 / hak_poisson_share(bytes, hak_pace.mean) : 0;
  if (sample) draw_sample();
  if (hak_pace.guard) draw_guard();
  set_left();
  return weight;
}

/* ---- the peak ---- */

static HAK_RARE uint64_t g_cached_seen; /* [bytes] free blocks in magazines and depots, when last looked at */

/* Locks: those of the magazines' sums. */
static HAK_NOINLINE uint64_t cached_now(void) {
  hak_slow_enter(NULL, __builtin_return_address(0));
  uint64_t cached = hak_magazine_cached_bytes();
  hak_slow_leave();
  hak_store(&g_cached_seen, cached);
  return cached;
}

/* [bytes] What is in use, if it may be a new peak, else 0. How many free blocks are cached follows the samples, whose
 * blocks lie in slabs of their own, so they are counted anew before what is handed out is taken for a peak: under
 * locks, and so not before a STEP-th more than at the last peak is in use. */
static uint64_t in_use_for_peak(void) {
  enum { STEP = 128 };
  uint64_t out = hak_stats_handed_out(), last = hak_load(&g_samples.peak.in_use);
  uint64_t least = last + last / STEP;
  if (hak_less(out, hak_load(&g_cached_seen)) <= least) return 0;
  uint64_t now = hak_less(out, cached_now());
  return now > least ? now : 0;
}

/* ---- a sample ---- */

/* Records the sample before the program knows the block's address. */
static HAK_NOINLINE void note_sample(void *p, size_t asked, size_t bytes, double weight, const void *site) {
  uint64_t frames[HAK_BACKTRACE_MOST];
  struct hak_sample sample = {.address = (uintptr_t)p, .bytes = bytes, .asked = asked, .weight = weight};
  uintptr_t sp = 0;
  hak_pace.walks = true;
  unsigned depth = hak_backtrace_take(frames, site, hak_pace.frame, hak_python_is_known() ? &sp : NULL);
  depth = hak_python_mix(frames, depth, HAK_BACKTRACE_MOST, sp);
  hak_pace.walks = false;
  hak_samples_add(&sample, frames, depth, in_use_for_peak());
  hak_python_forget(frames, depth);
  hak_pace.newest = p;
  hak_pace.newest_left = hak_pace.left;
}

/* ---- malloc ---- */

static void *take_apart(size_t n, const void *site) {
  hak_slow_enter_for(n, NULL, site);
  void *p = hak_slab_sampled_take(hak_class_of(n));
  hak_peak_check();
  hak_slow_leave();
  if (p != NULL) hak_slow_count(HAK_COUNTER_alloc_slab);
  return p;
}

static HAK_NOINLINE void *sampled_slot(size_t n, double weight, const void *site) {
  void *p = take_apart(n, site);
  if (p == NULL) return hak_untraced_malloc(n, site);
  note_sample(p, n, g_class[hak_class_of(n)].bytes, weight, site);
  return p;
}

/* True if the free of p will take the slow path: p has no class. A run for a sample has a class if there is no memory
 * for the table of sites. */
static bool is_seen(const void *p) { return hak_slow_class(p) == 0; }

static void note_run(void *p, size_t n, size_t bytes, double weight, const void *site) {
  if (HAK_LIKELY(is_seen(p))) note_sample(p, n, bytes, weight, site);
  else hak_samples_lose();
}

void *hak_sampled_run(size_t n, size_t align, bool *zero, const void *site) {
  double weight = count_request(n);
  hak_slow_enter_for(n, NULL, site);
  unsigned number = weight != 0 ? hak_site_of_sampled(site, hak_pace.frame) : hak_slow_site(n, site, hak_pace.frame);
  void *p = hak_slow_run(n, align, zero, number);
  hak_slow_leave();
  if (p != NULL && weight != 0) note_run(p, n, hak_slow_usable(p, site), weight, site);
  return p;
}

static HAK_NOINLINE void *sampled_run(size_t n, double weight, const void *site) {
  bool zero = false;
  hak_slow_enter_for(n, NULL, site);
  void *p = hak_slow_run(n, 1, &zero, hak_site_of_sampled(site, hak_pace.frame));
  hak_slow_leave();
  if (p == NULL) return hak_slow_ask(n, site);
  note_run(p, n, hak_slow_usable(p, site), weight, site);
  return p;
}

/* A block for a request that was counted and is not sampled. */
static void *unsampled_block(size_t n, const void *site) {
  struct hak_context *x = hak_context;
  unsigned c = n <= HAK_RUN_MAX ? hak_context_class(x, n) : 0;
  void **top = HAK_PEEK(&x->top[c]);
  return c != 0 && hak_sampled_has(x, c, top) ? hak_cache_pop(x, c, top) : hak_untraced_malloc(n, site);
}

void *hak_sampled_malloc(size_t n, const void *site) {
  if (HAK_UNLIKELY(n >= HAK_REQUEST_END)) return hak_untraced_malloc(n, site);
  void *p;
  double weight = count_request(n);
  if (HAK_UNLIKELY(hak_pace.guard) && (p = hak_guard_malloc(n, site)) != NULL) return p;
  if (HAK_LIKELY(weight == 0)) return unsampled_block(n, site);
  return n > HAK_SLAB_MAX ? sampled_run(n, weight, site) : sampled_slot(n, weight, site);
}

void *hak_sampled_block(size_t n, const void *site, HAK_FOUND) {
  void *p = hak_sampled_pop(x, c, top, n);
  if (p == NULL) return hak_sampled_malloc(n, site);
  hak_pace.passed = true;
  return p;
}

/* ---- free ---- */

/* `left` stands still while calls are not sampled. */
static bool is_brief(const void *p) {
  return p == hak_pace.newest && hak_pace.left == hak_pace.newest_left && hak_calls_are_sampled();
}

bool hak_sampled_free(void *p, enum hak_error *error) {
  struct hak_sample sample;
  hak_samples_withdraw(p, is_brief(p), &sample);
  if (!hak_slab_is_sampled(p)) return false;
  *error = hak_slab_sampled_put(p);
  if (*error == HAK_ERROR_none) hak_slow_count(HAK_COUNTER_free_slab);
  return true;
}

/* ---- realloc ---- */

/* The block was resized in place or by moving its pages, and its usable size changed. */
static void note_resized(void *p, size_t n, size_t bytes, const void *site) {
  double weight = count_request(n);
  if (weight == 0) return;
  uint32_t run = hak_range_run_of(p);
  if (run != HAK_NO_UNIT) hak_large_tell(run, p, hak_site_of_sampled(site, hak_pace.frame));
  note_run(p, n, bytes, weight, site);
}

static void stay(const struct hak_sample *sample, void *p, size_t n) {
  struct hak_sample own = *sample;
  own.address = (uintptr_t)p;
  own.asked = n;
  hak_samples_restore(&own);
}

/* The row leaves the table before the block may move: another thread may get the old address at once. */
static void *resize_long(void *p, size_t have, size_t n, const void *site) {
  struct hak_sample sample;
  bool sampled = hak_samples_withdraw(p, false, &sample);
  hak_pace.passed = false;
  void *q = hak_untraced_realloc(p, n, site);
  size_t now = q == NULL ? have : hak_pace.passed ? 0 : hak_slow_usable(q, site);
  if (now == have && sampled) stay(&sample, q != NULL ? q : p, q != NULL ? n : sample.asked);
  if (now != have && now != 0) note_resized(q, n, now, site);
  return q;
}

void *hak_sampled_realloc(void *p, size_t n, const void *site) {
  bool has_class = hak_is_slab_class(hak_range_class(p)); /* such a block is never sampled, and stays or is replaced */
  if (p == NULL || n == 0 || has_class) return hak_untraced_realloc(p, n, site);
  size_t have = hak_slow_usable(p, site);
  return have > HAK_SLAB_MAX ? resize_long(p, have, n, site) : hak_untraced_realloc(p, n, site);
}
