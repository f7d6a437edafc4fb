/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trigger.c: starts a release of free memory.
 *
 * what      See trigger.h.
 */
#include "reclaim/trigger.h"

#include "blocks/big.h"
#include "blocks/slab.h"
#include "cache/magazine.h"
#include "observe/stats_page.h"
#include "os/fork.h"
#include "os/os.h"
#include "os/thread.h"
#include "reclaim/background_thread.h"
#include "reclaim/release.h"
#include "reclaim/release_all.h"
#include "retain/rent.h"
#include "runs/runs.h"
#include "tables/counters.h"
#include "tables/range.h"

/* When all threads but one last ended, the free bytes then, and how many times in a row that was a loop. */
static HAK_RARE struct {
  uint64_t ms, bytes, rounds;
} g_ended;

/* Bytes that a background thread could release. */
static uint64_t idle_bytes(void) {
  return hak_load(&g_footprint.dirty) + hak_load(&g_footprint.big_cached) + hak_release_slab_bytes();
}

void hak_trigger_reclaim(void) {
  hak_account_begin(HAK_RECLAIM_SOON);
  hak_release_note(); /* before a thread starts, as the program frees much meanwhile */
  if (hak_rent_is_due() && hak_background_serves(idle_bytes())) return;
  if (hak_memory_limit_ask_seldom()) hak_release_all(0);
  hak_account_begin((int64_t)hak_release_aged_some());
  hak_stats_page_changed();
}

/* How many times in a row all threads but one ended within the rent time after the time before, with at least half of
 * these bytes free then: the next threads are likely to take the memory. */
static uint64_t rounds_of_loop(uint64_t bytes) {
  uint64_t now = hak_os_now_ms();
  bool again = now - hak_load(&g_ended.ms) < hak_rent_piece_ms() && bytes / 2 <= hak_load(&g_ended.bytes);
  uint64_t rounds = again ? hak_load(&g_ended.rounds) + 1 : 0;
  hak_store(&g_ended.ms, now);
  hak_store(&g_ended.bytes, bytes);
  hak_store(&g_ended.rounds, rounds);
  return rounds;
}

static void release_down_to(uint64_t bytes) {
  struct hak_fault fault = {HAK_ERROR_none, NULL};
  uint64_t least = hak_max(bytes, hak_load(&g_hold_floor));
  if (!hak_rent_release_enabled()) return;
  hak_magazine_drain_depot(&fault);
  hak_big_trim(least);
  hak_runs_purge(least);
  hak_slab_report(&fault, NULL);
}

void hak_trigger_release_rest(void) { release_down_to(hak_rent_keep_floor()); }

/* A loop may end after any round, and its kept memory may then stay for ever: each round proves the floor once more. */
void hak_trigger_threads_ended(void) {
  uint64_t floor = hak_rent_keep_floor(), free_bytes = hak_load(&g_footprint.dirty) + hak_load(&g_footprint.big_cached);
  uint64_t times = rounds_of_loop(free_bytes) + 1;
  release_down_to(floor > UINT64_MAX / times ? UINT64_MAX : floor * times);
}

/* ---- no memory ---- */

enum { REMEMBERED_MS = 1000, PART = 64 };

/* The last request that failed after all free memory was released: bytes, time, and spare_bytes then. */
static struct {
  uint64_t bytes, ms, left;
} g_in_vain = {.bytes = UINT64_MAX};

/* Bytes that are free, or mapped without pages. */
static uint64_t spare_bytes(void) {
  uint64_t mapped = hak_load(&g_range.mapped), span = hak_load(&g_footprint.span);
  return idle_bytes() + mapped - hak_min(span, mapped);
}

/* True if a request of about this size was in vain a moment ago, and hardly anything was freed since: a 64th of n.
 * Otherwise each request that is too large would pay for a search through the whole heap. */
static bool is_in_vain(uint64_t n) {
  uint64_t spare = spare_bytes(), left = hak_load(&g_in_vain.left);
  bool late = hak_os_now_ms() - hak_load(&g_in_vain.ms) >= REMEMBERED_MS;
  return n + n / PART >= hak_load(&g_in_vain.bytes) && !late && spare - hak_min(left, spare) <= n / PART;
}

static void remember_in_vain(uint64_t n) {
  hak_store(&g_in_vain.bytes, n);
  hak_store(&g_in_vain.ms, hak_os_now_ms());
  hak_store(&g_in_vain.left, spare_bytes());
}

/* 1 + the generation of forks while a thread releases all; a turn from before a fork counts as none. */
static HAK_RARE uint64_t g_turn;

enum { TURN_RESTS = 10000, DETACHED_RESTS = 1000 }; /* some 0.1 ms each, counted, as a clock may stand still */

bool hak_trigger_take_turn(void) {
  uint64_t mine = hak_load(&g_fork.generation) + 1;
  for (unsigned n = 0; n < TURN_RESTS; n++) {
    uint64_t seen = hak_load(&g_turn);
    if (seen != mine && hak_cas_acq_rel(&g_turn, &seen, mine)) return true;
    hak_os_rest();
  }
  return false;
}

void hak_trigger_drop_turn(bool had) {
  if (had) hak_store_release(&g_turn, 0);
}

/* Runs that the background thread, or a limit, is purging serve a moment later. */
static void wait_for_detached(void) {
  for (unsigned n = 0; n < DETACHED_RESTS && hak_runs_any_detached(); n++) hak_os_rest();
}

bool hak_trigger_rescue_begin(struct hak_rescue *rescue, size_t n) {
  if (is_in_vain(n)) return false;
  *rescue = (struct hak_rescue){n, hak_trigger_take_turn()};
  hak_count(HAK_COUNTER_rescues, 1);
  hak_after_fork_all();
  hak_release_all(0);
  hak_runs_unmap();
  wait_for_detached();
  return true;
}

void hak_trigger_rescue_end(const struct hak_rescue *rescue, bool served) {
  if (!served) remember_in_vain(rescue->bytes);
  hak_trigger_drop_turn(rescue->turn);
}
