/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fork.c: notice that this process is a fork's child.
 *
 * what      The wiped page, the atfork hook and the step to the next generation; see fork.h.
 * owner     g_fork.
 * not here  Repair.
 */
#define _GNU_SOURCE
#include "os/fork.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#include "os/call.h"
#include "os/os.h"
#include "os/self.h"
#include "os/thread.h"

static uint64_t never_wiped __attribute__((section(".data.word"))) = 1;
struct hak_fork g_fork = {.alive = &never_wiped};

/* The thread that called fork is here, and may not come to a slow door for long while those that it makes do. */
static void child_of_fork(void) {
  if (g_fork.alive == &never_wiped) never_wiped = 0; /* a wiped page may have been noticed already, by other hooks */
  if (hak_fork_happened()) hak_fork_notice();
}

/* A page that reads as 0 in a fork's child; NULL: there is none to be had. */
static uint64_t *get_wiped_page(void) {
  size_t bytes = hak_os_page_bytes();
  uint64_t *page = hak_os_map(bytes);
  if (page == NULL || HAK_KERNEL(SYS_madvise, page, bytes, MADV_WIPEONFORK) == 0) return page;
  hak_os_unmap(page, bytes);
  return NULL;
}

void hak_fork_start(void) {
  uint64_t *page = get_wiped_page();
  if (page != NULL) {
    hak_store(page, 1);
    hak_store_release(&g_fork.alive, page);
  }
}

void hak_fork_hook(void) {
  int saved = errno;
  pthread_atfork(NULL, NULL, child_of_fork);
  errno = saved;
}

void hak_fork_remember_process(void) { hak_store(&g_fork.process, hak_os_process_id()); }

/* In a child the thread that called fork is the leader; a thread the child made may come here before it. */
bool hak_fork_know_survivor(void) {
  if (hak_load(&g_fork.survivor) != 0) return true;
  if (!hak_os_is_first_thread()) return false;
  g_fork.born = hak_self.born != 0 ? hak_self.born - 1 : g_fork.generation;
  hak_store(&g_fork.survivor_number, hak_self.number);
  hak_store_release(&g_fork.survivor, hak_self_token());
  return true;
}

bool hak_fork_is_own_process(void) { return hak_os_process_id() == hak_load(&g_fork.process); }

/* How many numbers threads of the parent may have got, and left in locks, after the kernel had copied the page of
 * `numbers`: it copies one after another. 2^39 forks in a chain use all numbers up. */
enum { NUMBER_STEP = 2, NUMBERS_MEANWHILE = 1 << 25 };

static void count_generation(void) {
  hak_store(&g_fork.survivor, 0);
  hak_store(&g_fork.survivor_number, 0);
  hak_store(&g_fork.numbers, g_fork.numbers + NUMBERS_MEANWHILE);
  hak_store(&g_fork.least, g_fork.numbers);
  hak_store(&g_fork.generation, g_fork.generation + 1);
  hak_fork_remember_process();
  hak_fork_know_survivor();
  hak_store_release(g_fork.alive, 1);
}

/* A signal's handler that came here meanwhile would wait for ever for what it interrupts. */
void hak_fork_notice(void) {
  uint64_t signals = hak_os_block_signals(), seen = 0;
  if (hak_cas_acquire(g_fork.alive, &seen, 2)) count_generation();
  while (hak_load_acquire(g_fork.alive) != 1) hak_os_rest();
  hak_os_unblock_signals(signals);
}

/* A handler that comes between may have been given one; one that forks there has a child in which it was too early. */
uint64_t hak_fork_number(void) {
  for (;;) {
    if (hak_fork_happened()) hak_fork_notice();
    hak_set_alone(&hak_self.number, hak_add(&g_fork.numbers, NUMBER_STEP) + NUMBER_STEP);
    uint64_t number = hak_load(&hak_self.number);
    if (!hak_fork_left_behind(number)) return number;
    hak_store(&hak_self.number, 0);
  }
}
