/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* caretaker.c: when free memory is looked through.
 *
 * what      See caretaker.h.
 */
#include "front/caretaker.h"

#include "box/big.h"
#include "core/counters.h"
#include "core/range.h"
#include "core/rent.h"
#include "front/ageing.h"
#include "front/heap.h"
#include "front/learner.h"
#include "front/stats_page.h"
#include "os/os.h"
#include "span/span.h"

struct hak_caretaker g_caretaker;

static HAK_RARE struct {
  uint64_t ms, bytes; /* when all threads but one had ended, and what was free */
} g_last_end;

void hak_caretaker_count_doors(bool on) {
  if (on == (hak_load(&g_caretaker.counts) != 0)) return;
  uint8_t due = hak_load(&g_caretaker.due) & HAK_DUE_RECLAIM;
  hak_store(&g_caretaker.counts, (uint8_t)(on ? HAK_DUE_COUNT : 0));
  hak_store(&g_caretaker.due, (uint8_t)(due | hak_caretaker_always()));
}

void hak_caretaker_show_doors(void) {
  hak_store(&g_caretaker.shows, (uint8_t)HAK_DUE_SHOW);
  hak_store(&g_caretaker.due, (uint8_t)(hak_load(&g_caretaker.due) | HAK_DUE_SHOW));
}

static void set_next(int64_t net_bytes) {
  hak_store(&g_caretaker.freed_bytes, 0);
  hak_store(&g_caretaker.net_bytes, 0);
  hak_store(&g_caretaker.due_bytes, net_bytes);
  hak_store(&g_caretaker.due, hak_caretaker_always());
}

void hak_caretaker_watch(bool awake) {
  set_next(HAK_RECLAIM_SOON);
  hak_store(&g_caretaker.watched, awake);
}

/* Bytes that a helper might give back. */
static uint64_t idle_bytes(void) {
  return hak_load(&g_footprint.dirty) + hak_load(&g_footprint.kept) + hak_ageing_slab_bytes();
}

void hak_caretaker_reclaim(void) {
  set_next(HAK_RECLAIM_SOON);
  hak_ageing_note(); /* before the helper is made: meanwhile the other threads free much */
  if (hak_ageing_pays() && hak_helper_serves(idle_bytes())) return;
  if (hak_pressure_ask_seldom()) hak_heap_release(0);
  set_next((int64_t)hak_ageing_reclaim_some());
  hak_stats_page_changed();
}

bool hak_caretaker_may_have_helper(void) { return hak_helper_is_allowed() && hak_ageing_pays(); }

/* Whether all threads but one had ended within a rent before, and half of these bytes or more were free then. */
static bool ends_in_a_loop(uint64_t bytes) {
  uint64_t now = hak_os_now_ms();
  bool loop = now - hak_load(&g_last_end.ms) < hak_rent_piece_ms() && bytes / 2 <= hak_load(&g_last_end.bytes);
  hak_store(&g_last_end.ms, now);
  hak_store(&g_last_end.bytes, bytes);
  return loop;
}

void hak_caretaker_threads_ended(void) {
  if (ends_in_a_loop(hak_load(&g_footprint.dirty) + hak_load(&g_footprint.kept)) || !hak_ageing_pays()) return;
  uint64_t least = hak_max(hak_rent_least(), hak_load(&g_rent.floor));
  hak_big_trim(least);
  hak_span_purge(least);
}

/* ---- no memory ---- */

enum { REMEMBERED_MS = 1000, PART = 64 };

/* The last request that giving all back did not help, when that was, and what could be given back behind it. */
static struct {
  uint64_t bytes, ms, left;
} g_in_vain = {.bytes = UINT64_MAX};

/* What is free or holds none but addresses. */
static uint64_t spare_bytes(void) {
  uint64_t mapped = hak_load(&g_range.mapped), span = hak_load(&g_footprint.span);
  return idle_bytes() + mapped - hak_min(span, mapped);
}

/* As much was asked for a moment ago, in vain, and hardly anything has become free since: a 64th of it. Else each
 * request that is too large would pay for a search through the whole heap. */
static bool is_in_vain(uint64_t n) {
  uint64_t spare = spare_bytes(), left = hak_load(&g_in_vain.left);
  bool late = hak_os_now_ms() - hak_load(&g_in_vain.ms) >= REMEMBERED_MS;
  return n + n / PART >= hak_load(&g_in_vain.bytes) && !late && spare - hak_min(left, spare) <= n / PART;
}

static void remember(uint64_t n) {
  hak_store(&g_in_vain.bytes, n);
  hak_store(&g_in_vain.ms, hak_os_now_ms());
  hak_store(&g_in_vain.left, spare_bytes());
}

bool hak_caretaker_rescue(size_t n) {
  if (is_in_vain(n)) return false;
  hak_count(HAK_COUNTER_rescues, 1);
  hak_repair_all();
  size_t gone = hak_heap_release(0);
  gone += hak_span_unmap();
  remember(n); /* where the next try does better it is not asked again */
  return gone != 0;
}

static HAK_NOINLINE void repair_or_reclaim(void) {
  if (HAK_UNLIKELY(hak_repair_some())) hak_caretaker_call();
  else if (hak_caretaker_is_called()) hak_caretaker_reclaim();
}

void hak_caretaker_work(size_t n) {
  if (hak_repair_is_due() || hak_caretaker_is_called()) repair_or_reclaim();
  if (hak_load(&g_caretaker.counts) != 0) hak_learner_passed(n);
  hak_stats_page_show();
}
