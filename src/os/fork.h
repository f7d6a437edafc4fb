/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fork.h: notices that this process is a fork's child.
 *
 * what      A byte on a page that the kernel wipes in the child (MADV_WIPEONFORK), so that even _Fork is noticed. The
 *           child increments the generation and records the surviving thread. Threads are numbered, and no number is
 *           given twice: from the owner's number a lock knows whether a fork left the owner behind (lock.h). While libc
 *           has made no thread a fork leaves no thread behind, and there is no page: `alive` points to libc's flag, a
 *           byte that is 1 until libc makes a thread. The first slow path that reads 0 maps the page. A fork that went
 *           unnoticed until then is counted there, and every thread keeps its number.
 *
 *               parent: alive = 1 | generation g | survivor any
 *               child : alive = 0 ---first slow path or pthread_atfork---> alive = 1 | g + 1 | survivor = self
 *
 *               numbers given   2 4 6 | 33,554,440 33,554,442 |   below `least`, except the survivor's: numbers of
 *                      before a fork ^   ^ least                  threads that a fork left behind
 *
 *               one thread: alive is __libc_single_threaded ---first slow path after a thread was made---> the page
 *
 * owner     g_fork.
 * locks     None. The first thread of the child that looks makes the step; later threads wait for the step.
 * orders    alive is stored with release after generation and survivor, and loaded with acquire.
 * hot path  No. Two loads per slow path.
 * failure   A kernel without MADV_WIPEONFORK: fork is noticed (pthread_atfork), _Fork is not.
 * not here  Repair of state that another thread was changing during the fork: the owner of each lock, and
 *           cache/after_fork.c.
 */
#ifndef HAK_OS_FORK_H
#define HAK_OS_FORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"

struct hak_fork {
  uint8_t *alive;       /* 1: this process is known; 0: unnoticed child, or no page yet; 2: a thread is noticing */
  uint64_t generation;  /* number of forks from the first process to this process */
  uint64_t survivor;    /* token of the thread that called fork; 0: not known yet */
  uint64_t survivor_generation; /* generation of that thread's first slow path */
  uint64_t process;     /* id of the process at the last notice */
  uint64_t numbers;     /* the last number given */
  uint64_t least;       /* lower numbers are of threads from before the last fork */
  uint64_t survivor_number; /* number of that thread; 0: none */
};
extern HAK_HIDDEN struct hak_fork g_fork;

/* Called once, before the first block is handed out. later: while the process has a single thread, a fork's child need
 * not be told from the parent, so the page may wait for the second thread. */
void hak_fork_start(bool later);

/* True if the page need not be mapped any more: mapped, or refused by the kernel. */
bool hak_fork_is_watched(void);

/* True if the page is mapped: every fork is noticed, with or without the hook. */
bool hak_fork_has_page(void);

/* Maps the page if hak_fork_start left the page for later. */
void hak_fork_watch(void);

/* Registers libc's atfork hook, which may call malloc. Not called before the page is mapped. */
void hak_fork_hook(void);

/* In an unnoticed child: increments the generation. Maps the page if libc has made a thread and there is no page yet.
 * No effect otherwise; safe at any time. */
void hak_fork_notice(void);

/* Gives the calling thread a number, and returns the number. */
uint64_t hak_fork_number(void);

/* True if the number is of a thread that a fork left behind. */
static inline bool hak_fork_left_behind(uint64_t number) {
  return number < hak_load(&g_fork.least) && number != hak_load(&g_fork.survivor_number);
}

/* In the child: true if the surviving thread is known. Until that thread has come here, its context cannot be told from
 * contexts of threads that vanished. */
bool hak_fork_know_survivor(void);

/* Records the process id for hak_is_own_process. Called at load; makes a kernel call. */
void hak_fork_remember_process(void);

static inline bool hak_fork_happened(void) { return hak_load_acquire(hak_load_acquire(&g_fork.alive)) != 1; }

#endif
