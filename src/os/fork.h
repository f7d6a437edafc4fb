/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fork.h: notice that this process is a fork's child.
 *
 * what      A word on a page that the kernel wipes in the child (MADV_WIPEONFORK), so that even _Fork is seen.
 *           The child counts a generation up and remembers which thread survived. Threads are numbered, and a number is
 *           never given again: by it a lock knows whether its owner was left behind (lock.h). As long as libc made no
 *           thread a fork leaves none behind, and there is no page: libc's own flag is looked at instead, a byte that
 *           is 1 until then. The first slow door that finds it 0 maps the page; a fork that went by unnoticed counts
 *           then, and takes no thread's number.
 *
 *               parent: alive = 1 | generation g | survivor any
 *               child : alive = 0 ---first slow door or pthread_atfork---> alive = 1 | g + 1 | survivor = self
 *
 *               numbers given   2 4 6 | 33,554,440 33,554,442 |      all below `least` are of threads that a fork left
 *                      before a fork ^   ^ least                     behind, but for the survivor's
 *
 *               one thread: alive is __libc_single_threaded ---first slow door after a thread was made---> the page
 *
 * owner     g_fork.
 * locks     None; the first thread of the child to look does the step, others wait for it.
 * orders    alive is stored with release after generation and survivor, loaded with acquire.
 * hot path  No; one load per slow door.
 * failure   A kernel without MADV_WIPEONFORK: only fork() is noticed (pthread_atfork), _Fork is not.
 * not here  Repairing what the fork cut: the owner of each lock, and reclaim/trigger.c.
 */
#ifndef HAK_OS_FORK_H
#define HAK_OS_FORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"

struct hak_fork {
  uint8_t *alive;       /* 1: known; 0: a child that has not noticed, or no page yet; 2: noticing */
  uint64_t generation;  /* forks between the first process and this one */
  uint64_t survivor;    /* token of the thread that called fork; 0: it has not been here yet */
  uint64_t survivor_generation; /* the generation in which that thread first came here */
  uint64_t process;     /* the id of the process that noticed last */
  uint64_t numbers;     /* the number given last */
  uint64_t least;       /* below lie those of threads before the last fork */
  uint64_t survivor_number; /* 0: it had none */
};
extern HAK_HIDDEN struct hak_fork g_fork;

/* Once, before the first block is handed out. later: a child of a process of one thread need not be told from its
 * parent, so that the page may wait for a second one. */
void hak_fork_start(bool later);

/* Is there no need to map the page any more? It is mapped, or there is none to be had. */
bool hak_fork_is_watched(void);

/* It is mapped, if it was left for later. */
void hak_fork_watch(void);

/* libc's hook, which may call malloc: once there is a page. */
void hak_fork_hook(void);

/* In the child: counts the generation up. Safe to call at any time; does nothing when nothing happened. */
void hak_fork_notice(void);

/* Gives the calling thread its number. */
uint64_t hak_fork_number(void);

/* Was this number a thread's that a fork left behind? */
static inline bool hak_fork_left_behind(uint64_t number) {
  return number < hak_load(&g_fork.least) && number != hak_load(&g_fork.survivor_number);
}

/* In the child: is it known which thread survived? (Until it has been here itself, its context cannot be told from
 * those of the vanished.) */
bool hak_fork_know_survivor(void);

/* Which process this is, for hak_is_own_process. At load; a kernel call. */
void hak_fork_remember_process(void);

static inline bool hak_fork_happened(void) { return hak_load_acquire(hak_load_acquire(&g_fork.alive)) != 1; }

#endif
