/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* thread.c: start and end of threads, start of the process.
 *
 * what      See thread.h. The exit hook is a pthread key made at load, before the program can use all keys up: libc
 *           keeps the values of the first 32 keys in the thread itself, where __cxa_thread_atexit_impl allocates.
 * owner     g_thread, hak_context.
 * locks     g_thread.lock, for the process's first block.
 * not here  Counting calls.
 */
#define _GNU_SOURCE
#include "entry/thread.h"

#include <pthread.h>
#include <unistd.h>

#include "cache/magazine.h"
#include "cache/marks.h"
#include "cache/registry.h"
#include "entry/guard.h"
#include "entry/profiling.h"
#include "entry/secured.h"
#include "entry/slow_path.h"
#include "hakmem/hakmem.h"
#include "learn/learn.h"
#include "observe/crash.h"
#include "observe/layout.h"
#include "observe/stats_page.h"
#include "os/allowed.h"
#include "os/alone.h"
#include "os/complain.h"
#include "os/file.h"
#include "os/fork.h"
#include "os/lock.h"
#include "os/os.h"
#include "os/seal.h"
#include "os/self.h"
#include "os/thread.h"
#include "reclaim/background_thread.h"
#include "reclaim/trigger.h"
#include "reclaim/trigger.h"
#include "record/profile_backtrace.h"
#include "record/trace.h"
#include "retain/cost.h"
#include "retain/memory_limit.h"
#include "retain/rent.h"
#include "secure/secure.h"
#include "tables/calls.h"
#include "tables/classes.h"
#include "tables/range.h"
#include "tables/settings.h"

HAK_LAYOUT_COMES_ALONG();

static struct {
  struct hak_lock lock;
  bool begun; /* the first block was requested */
  bool asked_for_key, have_key, hooked;
  pthread_key_t key;
} g_thread;

typedef void at_first_block(void);

static HAK_SEALED at_first_block *g_also; /* called with the first block */

static void thread_exits(void *context);

/* Not from inside the allocator: an interposed pthread_key_create may allocate. */
static void make_key(void) {
  bool first = !hak_load(&g_thread.asked_for_key);
  if (first) first = !__atomic_exchange_n(&g_thread.asked_for_key, true, __ATOMIC_RELAXED);
  if (first) hak_store_release(&g_thread.have_key, pthread_key_create(&g_thread.key, thread_exits) == 0);
}

/* For a key from 32 up libc calls calloc, which enters the allocator again: the context is complete, and no lock is
 * held. */
static void tell_libc(struct hak_context *x) {
  if (hak_load_acquire(&g_thread.have_key)) pthread_setspecific(g_thread.key, x);
}

/* Another library's constructor may start threads before this library's constructor runs; then the key is made here.
 * For the first thread the constructor makes it, as an interposer may be about to make a first key. */
static void remember_exit(struct hak_context *x) {
  hak_self.in_allocator = 0;
  if (hak_registry_count() > 1) make_key();
  tell_libc(x);
  hak_self.in_allocator = 1;
}

/* True if a single-threaded fork's child may behave like the parent. False where the parent writes a file or learns,
 * and in a sandbox that may end the process for a kernel call needed by a second thread. */
static bool forks_are_alike(void) {
  bool learns = hak_setting(mode) > HAK_MODE_BASELINE, shows = g_settings.stats_file != NULL;
  return hak_load(&g_allowed) && hak_calls_are_unobserved() && !learns && !shows;
}

static void begin_process_locked(void) {
  if (HAK_SECURE) hak_secure_start();
  hak_store(&g_range.context_at, (uintptr_t)&hak_context - (uintptr_t)hak_arch_pointer());
  if (hak_load(&g_allowed)) hak_fork_remember_process(); /* the process may have forked since load; not in a sandbox */
  if (hak_load(&g_calls) == HAK_CALLS_UNKNOWN) hak_process_start();
  hak_fork_start(forks_are_alike());
  hak_class_whole_pages(hak_os_page_bytes());
  if (hak_load(&g_allowed) && hak_setting(huge_pages) == HAK_HUGE_OFF) hak_os_look_at_huge(true);
  hak_memory_limit_start();
  hak_store_release(&g_thread.begun, true);
}

/* Enters and leaves a slow path as the first block does: from then on a fork is noticed. */
static void trace_in_sandbox(void) {
  hak_slow_enter(NULL, __builtin_return_address(0));
  hak_slow_leave();
  hak_trace_enter_sandbox();
}

bool hak_process_is_own(void) {
  if (hak_fork_happened()) hak_fork_notice();
  return hak_is_own_process();
}

void hak_process_prepare_for_sandbox(void) {
  if (!hak_load_acquire(&g_thread.begun)) hak_fork_remember_process(); /* the process may have forked since load */
  hak_process_start();
  hak_memory_limit_look();
  hak_fork_watch();
  hak_cost_measure_last(hak_os_now_ms());
  if (hak_calls_are_traced()) trace_in_sandbox();
  if (g_settings.policy_file != NULL) hak_learn_finish_policy();
  hak_backtrace_finish(hak_setting(profile) != 0 || hak_setting(guard_bytes) != 0);
  if (g_settings.profile_file != NULL || g_settings.profile_table != NULL) hak_profiling_finish();
  hak_crash_enter_sandbox();
}

/* Several threads may arrive together where another malloc served the program until now. */
static void begin_process(void) {
  hak_lock_take(&g_thread.lock); /* taken over after a fork: all steps run once more, which is harmless */
  bool first = !g_thread.begun;
  if (first) begin_process_locked();
  hak_lock_drop(&g_thread.lock);
  hak_self.in_allocator = 0;
  if (first && g_also != NULL && hak_self_is_on_first_stack(__builtin_frame_address(0))) g_also();
  hak_self.in_allocator = 1;
}

void hak_process_at_first_block(void (*also)(void)) {
  if (g_thread.begun) {
    also();
    return;
  }
  enum hak_seal_state seal = hak_unseal();
  if (seal != HAK_SEAL_SHUT) g_also = also;
  hak_reseal(seal);
}

/* Usually called by the second thread that allocates, which holds no lock of libc when it starts. */
static void hook_fork(void) {
  bool first = !hak_load(&g_thread.hooked) && !__atomic_exchange_n(&g_thread.hooked, true, __ATOMIC_RELAXED);
  hak_self.in_allocator = 0;
  if (first) hak_fork_hook();
  hak_self.in_allocator = 1;
}

struct hak_context *hak_thread_begin(void) {
  if (hak_self.exiting) return NULL;
  if (HAK_UNLIKELY(!hak_load_acquire(&g_thread.begun))) begin_process();
  if (hak_fork_is_watched()) hook_fork();
  if (hak_context != &g_empty_context) return hak_context; /* libc's hook allocated */
  if (HAK_UNLIKELY(hak_calls_are_checked())) return NULL; /* without magazines each free reaches the slab's bitmap */
  struct hak_context *x = hak_registry_claim();
  if (x == NULL) return NULL;
  hak_context = x;
  if (hak_registry_count() > 1 && hak_load(&g_allowed)) hak_os_find_filter(); /* before the background thread starts */
  remember_exit(x);
  return x;
}

HAK_INLINE void end_quarantine(void) {
  hak_self.in_allocator = 0;
  if (HAK_SECURE) hak_secured_empty(true);
  hak_self.in_allocator = 1;
}

/* The thread's other destructors may still allocate and free: without a context, block by block. The key's value is not
 * used: libc of a second namespace (dlmopen) numbers its keys from 0, too, and its libraries write to that cell. */
static void thread_exits(void *value) {
  struct hak_context *context = hak_context;
  (void)value;
  if (context == &g_empty_context) return;
  hak_self.in_allocator = 1;
  hak_self.exiting = 1;
  if (HAK_SECURE) end_quarantine();
  hak_trace_thread_ends();
  hak_context = (struct hak_context *)&g_empty_context;
  struct hak_fault fault;
  hak_magazine_bury(context, &fault);
  if (hak_account_is_due()) hak_due_work(0); /* no later free may come for long */
  hak_self.in_allocator = 0;
  hak_background_thread_ends();
  hak_slab_report(&fault, NULL);
}

/* The clock keeps the address of the kernel's function, and blocks have a secret: both are known before the seal. */
HAK_INLINE void seal_process(void) {
  hak_os_now_ms();
  hak_secure_start();
  hak_seal();
}

void hak_process_start(void) {
  if (!hak_calls_settle()) return;
  hak_fork_remember_process();
  hak_store(&g_rent.now_ms, hak_os_start_ms());
  hak_settings_load(__environ, &hak_options == NULL ? NULL : hak_options);
  if (hak_setting(group_reads) != 0) hak_os_files_for_group(true);
  if (g_settings.counters_file != NULL) hak_counters_to_file(g_settings.counters_file);
  if (g_settings.stats_file != NULL) hak_stats_page_start(g_settings.stats_file);
  if (g_settings.trace_file != NULL && hak_trace_allow(g_settings.trace_file)) hak_calls_trace();
  hak_profiling_settle();
  if (hak_setting(crash_report) != 0) hak_crash_begin();
  hak_calls_heed();
  if (hak_learn_is_asked_for()) hak_learn_start();
  if (hak_calls_observers() != 0) hak_marks_close_all();
  if (HAK_SECURE) seal_process();
}

static void remember_at_load(void) {
  make_key();
  if (hak_context != &g_empty_context) tell_libc(hak_context);
}

/* Before main, after libc's constructor. The control group's files are read now if a setting names them, so that an
 * error is reported, or if a sandbox may be entered unseen. */
__attribute__((constructor(101))) static void process_starts(void) {
  remember_at_load();
  hak_process_start();
  if (g_settings.cgroup_dir != NULL || !hak_load(&g_allowed)) hak_memory_limit_look();
  if (g_settings.policy_file != NULL) hak_learn_start_policy();
  if (hak_calls_are_sampled()) hak_profiling_begin();
  if (hak_setting(guard_bytes) != 0) hak_guard_begin();
  if (hak_calls_are_traced()) hak_trace_try();
  if (g_settings.cgroup_dir != NULL) hak_memory_limit_start();
  hak_os_loaded();
}

