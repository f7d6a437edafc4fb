/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* background_thread.c: the thread that releases memory while the program idles.
 *
 * what      See background_thread.h.
 *
 *               NONE --cas--> STARTING ---> RUNNING --cas, by the thread itself--> NONE
 *                                              \------cas, by a stop--> STOPPING --thread has ended--> NONE
 *
 *           A thread of the program that leaves memory to the background thread notes that first (`relied`). The
 *           background thread looks at the note after NONE, and goes on from there unless the phase has changed.
 *           A phase is stored with the generation of forks: a phase of an older generation counts as NONE.
 * owner     g_background.
 * not here  Sleeping and waking: os/thread.h.
 */
#include "reclaim/background_thread.h"

#include "cache/after_fork.h"
#include "cache/context.h"
#include "cache/registry.h"
#include "observe/stats_page.h"
#include "os/allowed.h"
#include "os/alone.h"
#include "os/fork.h"
#include "os/lock.h"
#include "os/os.h"
#include "os/self.h"
#include "os/thread.h"
#include "reclaim/drain_idle.h"
#include "reclaim/release.h"
#include "reclaim/trigger.h"
#include "retain/memory_limit.h"
#include "retain/rent.h"
#include "tables/counters.h"
#include "tables/settings.h"

enum phase { NONE, STARTING, RUNNING, STOPPING, PHASES };

#define HOLDS ((uint64_t)1 << 32)

static struct {
  uint64_t phase; /* generation * PHASES + enum phase */
  uint32_t bell;
  uint32_t relied; /* since the background thread's last look, a thread left memory to it */
  uint64_t parted; /* 1 + the generation in which a thread got descriptors, folders or namespaces of its own */
  uint64_t holds; /* generation * HOLDS + number of threads inside a call of hold .. release; holds of an older
                   * generation, of threads of the parent, count as none */
  struct hak_os_thread thread;
} g_background;

static uint64_t here(enum phase phase) { return hak_load(&g_fork.generation) * PHASES + phase; }

/* The phase in this process: NONE if stored before a fork. */
static enum phase phase_now(uint64_t seen) {
  return seen / PHASES == hak_load(&g_fork.generation) ? (enum phase)(seen % PHASES) : NONE;
}

static bool change_phase(uint64_t from, enum phase to) { return hak_cas_acq_rel(&g_background.phase, &from, here(to)); }

/* Not in a program of one thread, which may check that no other thread exists. */
static bool is_thread_wanted(void) { return hak_setting(background_thread) != 0 && !hak_is_single_threaded(); }

/* True if the program has a second thread: one with magazines, or one that never allocates, which only the kernel
 * counts. Reads a file of /proc for the latter, so only a thread of the program asks: the program may count on the
 * number of its next descriptor. Where a filter is found then, the filter may have come by a bare kernel call a moment
 * ago, and may end the process for a clone. */
static bool has_second_thread(void) {
  if (hak_registry_count() > 1) return true;
  hak_os_find_filter();
  return !hak_os_is_filtered() && !hak_os_look_for_filter() && hak_os_threads_seen() > 1;
}

/* True if kernel calls beyond those of malloc are allowed. */
static bool is_allowed(void) { return hak_load(&g_allowed) && !hak_os_filter_came(); }

/* Not before the repair of a fork's child: a thread of the parent's generation could never be ended, and a second
 * thread would get its stack; the repair forgets the mappings that a thread is about to unmap. */
static bool may_start(void) {
  if (hak_after_fork_is_due() || (hak_registry_count() < 2 && !hak_fork_has_page())) return false;
  return is_allowed() && is_thread_wanted() && !hak_account_was_refused() && hak_is_own_process() && is_allowed();
}

/* ---- the thread ---- */

static bool is_stopped(void) { return phase_now(hak_load_acquire(&g_background.phase)) == STOPPING; }

/* True while the thread serves the program that it was begun for: one of several threads with magazines, or of one
 * beside threads that never allocate, whose end this thread cannot see without a file. */
static bool is_needed(bool lone) { return is_thread_wanted() && (lone || hak_registry_count() > 1) && !is_stopped(); }

static void run_passes(bool lone) {
  hak_account_watch(true);
  for (uint64_t ms = 0; ms != UINT64_MAX && is_needed(lone);) {
    uint32_t seen = hak_load_acquire(&g_background.bell);
    uint64_t soon = hak_drain_asked(), later = hak_release_aged(is_stopped), asked = hak_memory_limit_remind();
    ms = hak_min(soon, later);
    hak_stats_page_changed();
    if (ms != UINT64_MAX && !is_stopped()) hak_os_wait(&g_background.bell, seen, hak_min(ms, asked));
  }
  hak_account_watch(false);
  (void)hak_swap_acq_rel(&g_background.relied, 0);
  if (!is_stopped()) hak_trigger_release_rest(); /* frees since the last pass were not counted; none may follow */
}

void hak_background_serve(void) { run_passes(hak_registry_count() < 2); }

/* Leaves the phase RUNNING, which the starter may not have stored yet. Sleeps in between, as any thread may delay the
 * starter. */
static void end_by_itself(void) {
  uint32_t seen = hak_load_acquire(&g_background.bell);
  while (!is_stopped() && !change_phase(here(RUNNING), NONE)) {
    hak_os_wait(&g_background.bell, seen, 1);
    seen = hak_load_acquire(&g_background.bell);
  }
}

/* In phase NONE: true, and RUNNING again, if a thread relied on this one since the release of the rest, which may have
 * missed that thread's memory. */
static bool goes_on(bool lone) {
  hak_fence();
  return hak_load(&g_background.relied) != 0 && is_needed(lone) && change_phase(here(NONE), RUNNING);
}

static void run_background(void) {
  bool lone = hak_registry_count() < 2;
  hak_context = (struct hak_context *)&g_empty_context; /* thread-local storage begins as zero */
  hak_self.in_allocator = 1;                                  /* this thread never allocates */
  do {
    run_passes(lone);
    end_by_itself();
  } while (goes_on(lone));
}

/* ---- start ---- */

/* False while the previous background thread has not left its stack: the next slow path comes soon. */
static bool start_thread(void) {
  return hak_load_acquire(&g_background.thread.id) == 0 && hak_os_thread_start(&g_background.thread, run_background);
}

static uint64_t first_hold(void) { return hak_load(&g_fork.generation) * HOLDS; }

/* The holds in this process: 0 if stored before a fork. */
static uint64_t holds_now(uint64_t seen) { return seen / HOLDS == hak_load(&g_fork.generation) ? seen % HOLDS : 0; }

/* The holds first: a thread that parted stored `parted` under its hold. */
static bool may_begin(void) {
  bool any = is_allowed() && holds_now(hak_load_acquire(&g_background.holds)) == 0;
  return any && (hak_load(&g_background.parted) != hak_load(&g_fork.generation) + 1 || hak_is_first_thread());
}

/* may_begin is asked in phase STARTING: a thread that holds or forbids stores that first, and then waits for the phase
 * to change, so neither thread misses the other. */
static bool start_phase(uint64_t seen) {
  if (!change_phase(seen, STARTING)) return false;
  hak_fence();
  if (seen / PHASES != hak_load(&g_fork.generation)) hak_os_thread_forget(&g_background.thread);
  bool made = may_begin() && start_thread();
  hak_store_release(&g_background.phase, here(made ? RUNNING : NONE));
  if (made) hak_count(HAK_COUNTER_background_starts, 1);
  hak_store(&g_account.refused_ms, made ? 0 : hak_os_now_ms());
  hak_store(&g_rent.helpless, !made);
  return made;
}

/* With signals blocked: a signal handler that stops the background thread would wait for ever for the start that the
 * handler interrupts. */
static bool start_undisturbed(uint64_t seen) {
  uint64_t signals = hak_os_block_signals();
  bool made = start_phase(seen);
  hak_os_unblock_signals(signals);
  return made;
}

/* The background thread's phase, which this thread may rely on if it is RUNNING. */
static uint64_t rely(void) {
  uint64_t seen = hak_load_acquire(&g_background.phase);
  if (phase_now(seen) != RUNNING) return seen;
  hak_store_release(&g_background.relied, 1);
  hak_fence();
  return hak_load_acquire(&g_background.phase);
}

bool hak_background_serves(size_t idle) {
  uint64_t seen = rely();
  if (phase_now(seen) == RUNNING) return true;
  if (phase_now(seen) != NONE || idle < hak_background_worth() || !may_start()) return false;
  bool company = has_second_thread();
  if (!company) hak_store(&g_account.lone_ms, hak_os_now_ms());
  return company && start_undisturbed(seen);
}

/* ---- stop ---- */

/* A thread that sees the bell sees what the bell was rung for. */
void hak_background_wake(void) {
  hak_add_release(&g_background.bell, 1);
  hak_os_wake(&g_background.bell);
}

/* `seen`: RUNNING, or NONE of a thread that has not left its stack and may go on. */
static void stop_running(uint64_t seen) {
  if (!change_phase(seen, STOPPING)) return;
  hak_background_wake();
  hak_os_thread_join(&g_background.thread);
  hak_store_release(&g_background.phase, here(NONE));
}

/* No background thread of this process. */
static bool is_none(uint64_t seen) {
  return phase_now(seen) == NONE && (seen != here(NONE) || hak_load_acquire(&g_background.thread.id) == 0);
}

/* A start or a stop may be under way in a different thread, or the background thread ended by itself a moment ago. */
static void stop_and_wait(void) {
  uint64_t signals = hak_os_block_signals(), seen;
  while (!is_none(seen = hak_load_acquire(&g_background.phase))) {
    if (phase_now(seen) == RUNNING || phase_now(seen) == NONE) stop_running(seen);
    else hak_os_rest();
  }
  hak_os_unblock_signals(signals);
}

/* False if there is no background thread, and in a signal handler that interrupts a slow path: such a handler must not
 * wait, as the background thread may need a lock that the slow path holds. */
static bool has_to_stop(void) {
  return !is_none(hak_load_acquire(&g_background.phase)) && !hak_self.in_allocator;
}

void hak_background_stop(void) {
  if (hak_fork_happened()) hak_fork_notice();
  if (has_to_stop() && hak_is_own_process()) stop_and_wait();
}

/* Not for a child of vfork, which shares the parent's memory. */
static void hold(void) {
  uint64_t seen = hak_load(&g_background.holds);
  while (!hak_cas_acq_rel(&g_background.holds, &seen, first_hold() + holds_now(seen) + 1)) {
  }
  hak_fence();
  if (has_to_stop()) stop_and_wait();
}

/* Holds from before a fork count as none. */
static void release_hold(void) {
  uint64_t seen = hak_load(&g_background.holds);
  while (holds_now(seen) != 0 && !hak_cas_acq_rel(&g_background.holds, &seen, seen - 1)) {
  }
}

/* False in a child of vfork: the child has no background thread, and may end before releasing a hold in the parent's
 * memory. */
static bool has_own_background(void) {
  if (hak_fork_happened()) hak_fork_notice();
  return hak_is_own_process();
}

/* A sandbox that was announced (hak_background_forbid) has no background thread, and may forbid the kernel call of
 * hak_is_own_process. */
static bool can_be_held(void) {
  if (hak_fork_happened()) hak_fork_notice();
  return (hak_load(&g_allowed) || has_to_stop()) && hak_is_own_process();
}

void hak_background_hold(void) {
  if (can_be_held()) hold();
}

void hak_background_release(void) {
  if (can_be_held()) release_hold();
}

/* No effect in a fork's child that never had a background thread. */
void hak_background_vanish(void) {
  bool its_own = hak_load_acquire(&g_background.phase) / PHASES == hak_load(&g_fork.generation);
  if (its_own && has_own_background()) hak_os_thread_vanish(&g_background.thread);
}

void hak_background_part(void) {
  if (hak_is_single_threaded() || !hak_is_own_process()) return;
  hak_store(&g_background.parted, hak_load(&g_fork.generation) + 1);
}

void hak_background_forbid(void) {
  if (hak_fork_happened()) hak_fork_notice();
  if (!hak_load(&g_allowed)) return; /* a second filter: the first may forbid the kernel call below */
  if (hak_is_own_process()) hak_store(&g_allowed, false);
  hak_fence();
  hak_background_stop();
}

/* Ends the background thread under a hold: otherwise a beginning thread might start the next background thread, and
 * this call would wait for the next, too. No kernel call without a background thread: a filter may forbid the call. */
static void stop_and_allow(void) {
  hold();
  release_hold();
}

void hak_background_finish(void) {
  if (hak_fork_happened()) hak_fork_notice();
  if (!has_to_stop() || hak_is_own_process()) stop_and_allow();
}

/* Not called in a child of vfork, whose last thread ends as a process. */
void hak_background_thread_ends(void) {
  if (hak_registry_count() > 1) return;
  if (hak_fork_happened()) hak_fork_notice();
  stop_and_allow();
  hak_self.in_allocator = 1;
  hak_trigger_threads_ended();
  hak_self.in_allocator = 0;
}
