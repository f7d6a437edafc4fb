/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* thread.c: a thread of HAKMEM's own; sleeping and waking.
 *
 * what      A thread and a futex behind the contract of thread.h. Thread-local variables need a block of memory of the
 *           thread's own, laid out around the thread pointer as libc lays out every thread's:
 *
 *               memory | no access | stack ......... <- | ... this library's, errno | tcb ...... |
 *                        one page                         below                    ^ pointer, `above` from here
 *
 *           The side of the variables depends on the processor: below the pointer on x86-64, above on aarch64.
 * owner     The caller's record.
 * orders    The kernel clears the record's id when the thread is off its stack; loaded with acquire.
 * failure   False; errno is not touched.
 * not here  The lock's own sleep: lock.c.
 */
#define _GNU_SOURCE
#include "os/thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "arch/arch.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/str.h"
#include "os/alone.h"
#include "os/call.h"
#include "os/os.h"
#include "os/self.h"
#include "os/text.h"

#define STACK_BYTES ((size_t)64 << 10)
#define SPARE_BYTES ((size_t)4 << 10) /* beyond the farthest known variable: the neighbours, and libc's record */

/* ---- thread-local storage ---- */

/* Extent of this thread's variables on both sides of the thread pointer [bytes]. */
struct reach {
  size_t below, above;
};

static void stretch(struct reach *reach, const char *pointer, const char *variable) {
  ptrdiff_t distance = variable - pointer;
  if (distance < 0) reach->below = hak_max(reach->below, (size_t)-distance);
  else reach->above = hak_max(reach->above, (size_t)distance);
}

static struct reach reach_of_variables(void) {
  struct reach reach = {0, 0};
  const char *pointer = hak_self_pointer();
  stretch(&reach, pointer, (const char *)&hak_self);
  stretch(&reach, pointer, (const char *)&errno);
  size_t page = hak_os_page_bytes();
  return (struct reach){hak_round_up(reach.below + SPARE_BYTES, page), hak_round_up(reach.above + SPARE_BYTES, page)};
}

/* ---- the thread ---- */

static size_t stack_end(void) { return hak_os_page_bytes() + STACK_BYTES; }

static bool map_memory(struct hak_os_thread *thread, struct reach reach) {
  size_t page = hak_os_page_bytes();
  char *memory = hak_os_map(stack_end() + reach.below + reach.above);
  if (memory == NULL) return false;
  HAK_KERNEL(SYS_mprotect, memory, page, PROT_NONE);
  thread->memory = memory;
  return true;
}

enum { UNREADABLE = INT32_MAX, NOT_READ = INT32_MAX - 1 };

static HAK_DATA uint32_t g_filters = NOT_READ; /* filters that came with the process: the number read first */
static bool g_filter_came;
static uint32_t g_threads; /* threads of the process at the last reading; 0: none yet */

/* Returns the number in a row of a /proc file; `otherwise` if `text` does not hold the row with its end. */
static uint32_t number_of(const char *text, const char *row, uint32_t otherwise) {
  const char *at = hak_strstr(text, row);
  uint32_t number = 0;
  if (at == NULL) return otherwise;
  for (at += hak_strlen(row); *at >= '0' && *at <= '9'; at++) number = number * 10 + (uint32_t)(*at - '0');
  return *at == '\n' ? number : otherwise;
}

/* Returns the number of filters, and stores the number of threads. Reads in pieces, because the stack may be small;
 * each piece begins with the end of the piece before. A kernel before 5.9 shows only the mode, which is 0 without a
 * filter. */
static uint32_t read_numbers(long descriptor) {
  static const char row[] = "\nSeccomp_filters:\t", longest[] = "\nSeccomp_filters:\t4294967295\n";
  enum { KEPT = sizeof longest - 2, PIECE = 384 };
  char text[KEPT + PIECE + 1];
  uint32_t mode = UNREADABLE, filters = UNREADABLE;
  memset(text, ' ', KEPT);
  for (long n; filters == UNREADABLE && (n = hak_text_read(descriptor, text + KEPT, PIECE)) > 0;) {
    text[KEPT + n] = '\0';
    hak_store(&g_threads, number_of(text, "\nThreads:\t", hak_load(&g_threads)));
    mode = number_of(text, "\nSeccomp:\t", mode);
    filters = number_of(text, row, filters);
    memmove(text, text + n, KEPT);
  }
  return filters != UNREADABLE ? filters : mode;
}

/* Number of filters of the calling thread. *later: no descriptor was free. */
static uint32_t read_filters(bool *later) {
  long descriptor = hak_text_open("/proc/thread-self/status");
  uint32_t filters = descriptor >= 0 ? read_numbers(descriptor) : UNREADABLE;
  *later = descriptor == -EMFILE || descriptor == -ENFILE;
  hak_text_close(descriptor);
  return filters;
}

void hak_os_find_filter(void) {
  bool later;
  if (hak_load(&g_filters) != NOT_READ) return;
  uint32_t none = NOT_READ, now = read_filters(&later);
  if (!later) __atomic_compare_exchange_n(&g_filters, &none, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool hak_os_is_filtered(void) { return hak_load(&g_filters) != 0; }

bool hak_os_filter_came(void) { return hak_load(&g_filter_came); }

uint32_t hak_os_threads_seen(void) { return hak_load(&g_threads); }

bool hak_os_look_for_filter(void) {
  uint32_t first = hak_load(&g_filters);
  if (first == NOT_READ || hak_os_filter_came()) return hak_os_filter_came();
  bool later;
  uint32_t now = read_filters(&later);
  if (now != UNREADABLE && now > first) hak_store(&g_filter_came, true);
  return hak_os_filter_came();
}

/* Never returns: the stack has no caller. */
static void begin_thread(void *run) {
  HAK_KERNEL(SYS_prctl, PR_SET_NAME, "hakmem");
  if (!hak_os_is_filtered()) hak_os_run_anywhere();
  ((void (*)(void))run)();
  for (;;) HAK_KERNEL(SYS_exit, 0);
}

static bool make(struct hak_os_thread *thread, char *pointer, void (*run)(void)) {
  const unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                              CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  const struct hak_kernel_thread how = {flags, thread->memory + stack_end(), pointer, &thread->id};
  long id = hak_kernel_clone(&how, begin_thread, (void *)run);
  if (id > 0) thread->was = (uint32_t)id;
  return id > 0;
}

/* A bare kernel call: libc's function would leave two signals of libc's own unblocked. */
uint64_t hak_os_block_signals(void) {
  const uint64_t all = ~(uint64_t)0;
  uint64_t before = 0;
  HAK_KERNEL(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
  return before;
}

void hak_os_unblock_signals(uint64_t before) {
  HAK_KERNEL(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
}

/* A new thread inherits the maker's mask. */
static bool make_blocked(struct hak_os_thread *thread, char *pointer, void (*run)(void)) {
  uint64_t before = hak_os_block_signals();
  bool made = make(thread, pointer, run);
  hak_os_unblock_signals(before);
  return made;
}

/* True if the user may have so few threads that the program may need the last thread. */
static bool thread_limit_is_low(void) {
  enum { FEW = 1024 };
  struct rlimit limit;
  return HAK_KERNEL(SYS_prlimit64, 0, RLIMIT_NPROC, NULL, &limit) == 0 && limit.rlim_cur < FEW;
}

static bool start_clone(struct hak_os_thread *thread, struct reach reach, void (*run)(void)) {
  if (thread->memory == NULL && !map_memory(thread, reach)) return false;
  char *storage = thread->memory + stack_end();
  memset(storage, 0, reach.below + reach.above);
  hak_arch_link(storage + reach.below);
  return make_blocked(thread, storage + reach.below, run);
}

bool hak_os_thread_start(struct hak_os_thread *thread, void (*run)(void)) {
  return !thread_limit_is_low() && start_clone(thread, reach_of_variables(), run);
}

static void futex_on_word(const uint32_t *word, int operation, uint32_t value, const struct timespec *limit) {
  hak_os_tally(HAK_OS_FUTEX);
  HAK_KERNEL(SYS_futex, word, operation, value, limit);
}

/* Not private, because the kernel's wake at the thread's end is not private. That wake reaches a single waiter, which
 * wakes the rest. */
void hak_os_thread_join(struct hak_os_thread *thread) {
  uint32_t id = hak_load_acquire(&thread->id);
  if (id == 0) return;
  while (hak_load_acquire(&thread->id) == id) futex_on_word(&thread->id, FUTEX_WAIT, id, NULL);
  futex_on_word(&thread->id, FUTEX_WAKE, INT32_MAX, NULL);
}

/* The kernel clears the id some instructions before the kernel forgets the thread. The caller sleeps in between: a
 * real-time caller may occupy the only processor that the thread can run on. */
void hak_os_thread_vanish(struct hak_os_thread *thread) {
  enum { RESTS = 4000 }; /* 0.2 s: then the number belongs to a new thread by now */
  uint32_t was = hak_load(&thread->was);
  for (int n = 0; n < RESTS && was != 0 && was != hak_os_thread_id(); n++) {
    if (HAK_KERNEL(SYS_tgkill, hak_os_process_id(), was, 0) != 0) break;
    hak_os_rest();
  }
  hak_store(&thread->was, 0);
}

void hak_os_thread_forget(struct hak_os_thread *thread) { hak_store(&thread->id, thread->was = 0); }

bool hak_is_first_thread(void) { return hak_os_thread_id() == hak_os_process_id(); }

/* ---- sleep ---- */

void hak_os_rest(void) {
  static const uint32_t never_changes;
  const struct timespec moment = {.tv_nsec = 50000};
  futex_on_word(&never_changes, FUTEX_WAIT_PRIVATE, 0, &moment);
}

void hak_os_wait(const uint32_t *word, uint32_t seen, uint64_t ms) {
  const struct timespec limit = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
  futex_on_word(word, FUTEX_WAIT_PRIVATE, seen, ms == UINT64_MAX ? NULL : &limit);
}

void hak_os_wake(const uint32_t *word) { futex_on_word(word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL); }
