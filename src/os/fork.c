/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fork.c: notices that this process is a fork's child.
 *
 * what      The wiped page, the atfork hook and the step to the next generation; see fork.h.
 * owner     g_fork.
 * not here  Repair: see fork.h.
 */
#define _GNU_SOURCE
#include "os/fork.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "os/allowed.h"
#include "os/alone.h"
#include "os/call.h"
#include "os/libc.h"
#include "os/os.h"
#include "os/self.h"
#include "os/thread.h"

static HAK_DATA uint8_t never_wiped = 1;
struct hak_fork g_fork = {.alive = &never_wiped};

/* Returns libc's flag, 1 until libc makes a thread. */
static uint8_t *libc_flag(void) { return HAK_ELIDE_LOCKS ? HAK_LIBC_FLAG : NULL; }

/* True if the child has no wiped page, or one that the kernel promised to wipe and did not, as qemu-user. The child may
 * have noticed already, in a handler that ran before this one. */
static bool is_unmarked(void) {
  return hak_fork_is_watched() && hak_load(g_fork.alive) == 1 && hak_load(&g_fork.process) != hak_os_process_id();
}

/* Runs in the thread that called fork. Notices at once: this thread may take no slow path for long while threads
 * created by the child do. */
static void child_of_fork(void) {
  if (is_unmarked()) hak_store(g_fork.alive, 0);
  if (hak_fork_happened()) hak_fork_notice();
}

/* Maps a page that reads as 0 in a fork's child. NULL: no memory, or no MADV_WIPEONFORK. */
static uint8_t *get_wiped_page(void) {
  size_t bytes = hak_os_page_bytes();
  uint8_t *page = hak_os_map(bytes);
  if (page == NULL || HAK_KERNEL(SYS_madvise, page, bytes, MADV_WIPEONFORK) == 0) return page;
  hak_os_unmap(page, bytes);
  return NULL;
}

static void use_page(void) {
  uint8_t *page = get_wiped_page();
  if (page != NULL) hak_store(page, 1);
  hak_store_release(&g_fork.alive, page != NULL ? page : &never_wiped);
}

void hak_fork_start(bool later) {
  uint8_t *flag = libc_flag();
  if (later && flag != NULL && hak_load(flag) == 1) hak_store_release(&g_fork.alive, flag);
  else use_page();
}

/* Signals are not blocked, as a process in a sandbox would end for that kernel call: a handler that forks meanwhile
 * waits for ever for libc's lock of such hooks. */
void hak_fork_hook(void) {
  int saved = errno;
  pthread_atfork(NULL, NULL, child_of_fork);
  errno = saved;
}

void hak_fork_remember_process(void) { hak_store(&g_fork.process, hak_os_process_id()); }

/* In a child the thread that called fork is the first thread. A thread created by the child may come here earlier. */
bool hak_fork_know_survivor(void) {
  if (hak_load(&g_fork.survivor) != 0) return true;
  if (!hak_is_first_thread()) return false;
  g_fork.survivor_generation = hak_self.first_generation != 0 ? hak_self.first_generation - 1 : g_fork.generation;
  hak_store(&g_fork.survivor_number, hak_self.number);
  hak_store_release(&g_fork.survivor, hak_self_token());
  return true;
}

bool hak_is_own_process(void) {
  if (hak_os_look_for_filter()) return true;
  return hak_os_process_id() == hak_load(&g_fork.process) || hak_libc_has_thread();
}

/* Bound on the numbers that threads of the parent were given, and left in locks, after the kernel had copied the page
 * of `numbers`: fork copies page after page. The 64 bits last for a chain of 2^39 forks. */
enum { NUMBER_STEP = 2, NUMBERS_MEANWHILE = 1 << 25 };

static void leave_numbers_behind(void) {
  hak_store(&g_fork.survivor_number, 0);
  hak_store(&g_fork.numbers, g_fork.numbers + NUMBERS_MEANWHILE);
  hak_store(&g_fork.least, g_fork.numbers);
}

static void count_generation(void) {
  hak_store(&g_fork.survivor, 0);
  hak_store(&g_fork.generation, g_fork.generation + 1);
  hak_fork_remember_process();
  hak_fork_know_survivor();
}

bool hak_fork_is_watched(void) { return hak_load_acquire(&g_fork.alive) != libc_flag(); }

bool hak_fork_has_page(void) { return hak_fork_is_watched() && hak_load(&g_fork.alive) != &never_wiped; }

/* A filter that comes later by a bare kernel call is told from the filters of now (thread.h). */
static void look_at_filters(void) {
  if (!hak_is_single_threaded() && hak_load(&g_allowed)) hak_os_find_filter();
}

/* No thread is inside a slow path that began before libc made the second thread; every slow path that begins later
 * waits here. If a fork went unnoticed so far, that fork left no thread behind: all numbers stay valid, the first
 * thread's until the first thread comes here. A fork in the middle of this function: the child, with a new process id,
 * starts again. */
static void map_page(void) {
  static HAK_RARE uint64_t mapper;
  uint64_t process = hak_os_process_id(), seen = hak_load(&mapper);
  if (seen != process && hak_cas_acquire(&mapper, &seen, process)) {
    if (hak_load(&g_fork.process) != process) {
      if (hak_is_first_thread()) leave_numbers_behind();
      count_generation();
    }
    look_at_filters();
    use_page();
  }
  while (!hak_fork_is_watched()) hak_os_rest();
}

static void notice(void) {
  uint8_t seen = 0;
  if (hak_cas_acquire(g_fork.alive, &seen, 2)) {
    leave_numbers_behind();
    count_generation();
    hak_store_release(g_fork.alive, 1);
  }
  while (hak_load_acquire(g_fork.alive) != 1) hak_os_rest();
}

/* Signals are blocked: a handler that came here in the middle would wait for ever for the thread that the handler
 * interrupts. */
void hak_fork_notice(void) {
  uint64_t signals = hak_os_block_signals();
  if (hak_fork_is_watched()) notice();
  else map_page();
  hak_os_unblock_signals(signals);
}

void hak_fork_watch(void) {
  if (!hak_fork_is_watched()) hak_fork_notice();
}

/* A signal handler between the two steps may have given this thread a number, which is kept. After a fork in such a
 * handler the child's number lies below `least`: the loop draws a new number. */
uint64_t hak_fork_number(void) {
  for (;;) {
    if (hak_fork_happened()) hak_fork_notice();
    hak_set_unshared(&hak_self.number, hak_add(&g_fork.numbers, NUMBER_STEP) + NUMBER_STEP);
    uint64_t number = hak_load(&hak_self.number);
    if (!hak_fork_left_behind(number)) return number;
    hak_store(&hak_self.number, 0);
  }
}
