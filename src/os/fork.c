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
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"
#include "os/self.h"
#include "os/thread.h"

static uint8_t never_wiped __attribute__((section(".data.word"))) = 1;
struct hak_fork g_fork = {.alive = &never_wiped};

/* 1 until libc makes a thread. */
static uint8_t *libc_flag(void) { return HAK_ELIDE_LOCKS ? (uint8_t *)&__libc_single_threaded : NULL; }

/* The thread that called fork is here, and may not come to a slow door for long while those that it makes do. */
static void child_of_fork(void) {
  if (g_fork.alive == &never_wiped) never_wiped = 0; /* a wiped page may have been noticed already, by other hooks */
  if (hak_fork_happened()) hak_fork_notice();
}

/* A page that reads as 0 in a fork's child; NULL: there is none to be had. */
static uint8_t *get_wiped_page(void) {
  size_t bytes = hak_os_page_bytes();
  uint8_t *page = hak_os_map(bytes);
  if (page == NULL || madvise(page, bytes, MADV_WIPEONFORK) == 0) return page;
  hak_os_unmap(page, bytes);
  return NULL;
}

static void use_page(void) {
  int saved = errno;
  uint8_t *page = get_wiped_page();
  if (page != NULL) hak_store(page, 1);
  hak_store_release(&g_fork.alive, page != NULL ? page : &never_wiped);
  errno = saved;
}

void hak_fork_start(bool later) {
  uint8_t *flag = libc_flag();
  if (later && flag != NULL && hak_load(flag) == 1) hak_store_release(&g_fork.alive, flag);
  else use_page();
}

void hak_fork_hook(void) {
  int saved = errno;
  pthread_atfork(NULL, NULL, child_of_fork);
  errno = saved;
}

/* The bare call: libc's function lies on a page that a tiny process has no other use for. */
static uint64_t process_id(void) { return (uint64_t)syscall(SYS_getpid); }

void hak_fork_remember_process(void) { hak_store(&g_fork.process, process_id()); }

/* In a child the thread that called fork is the leader; a thread the child made may come here before it. */
bool hak_fork_know_survivor(void) {
  if (hak_load(&g_fork.survivor) != 0) return true;
  if (gettid() != getpid()) return false;
  g_fork.born = hak_self.born != 0 ? hak_self.born - 1 : g_fork.generation;
  hak_store_release(&g_fork.survivor, hak_self_token());
  return true;
}

bool hak_fork_is_own_process(void) { return process_id() == hak_load(&g_fork.process); }

static void count_generation(void) {
  hak_store(&g_fork.survivor, 0);
  hak_store(&g_fork.generation, g_fork.generation + 1);
  hak_fork_remember_process();
  hak_fork_know_survivor();
}

bool hak_fork_is_watched(void) { return hak_load_acquire(&g_fork.alive) != libc_flag(); }

/* No thread is in a slow door that was there before the second one, and all others wait here. A fork may have gone by
 * unnoticed; and one may cut this, which the child then begins anew. */
static void map_page(void) {
  static HAK_RARE uint64_t mapper;
  uint64_t process = process_id(), seen = hak_load(&mapper);
  if (seen != process && hak_cas_acquire(&mapper, &seen, process)) {
    if (hak_load(&g_fork.process) != process) count_generation();
    use_page();
  }
  while (!hak_fork_is_watched()) hak_os_rest();
}

static void notice(void) {
  uint8_t seen = 0;
  if (hak_cas_acquire(g_fork.alive, &seen, 2)) {
    count_generation();
    hak_store_release(g_fork.alive, 1);
  }
  while (hak_load_acquire(g_fork.alive) != 1) hak_os_rest();
}

/* A signal's handler that came here meanwhile would wait for ever for what it interrupts. */
void hak_fork_notice(void) {
  uint64_t signals = hak_os_block_signals();
  if (hak_fork_is_watched()) notice();
  else map_page();
  hak_os_unblock_signals(signals);
}

void hak_fork_watch(void) {
  if (!hak_fork_is_watched()) hak_fork_notice();
}
