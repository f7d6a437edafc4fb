/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lock.h: a lock that knows its owner.
 *
 * what      One word: the owner, and a bit for sleepers.
 *
 *               63                                           1 0
 *               [ owner: the number of the thread (os/fork.h) ][ sleepers ]      0 = free
 *
 *           A thread that finds the lock owned by a thread that a fork left behind takes the lock over, and is told to
 *           rebuild the guarded data. Holds for any number of forks: no number is given twice.
 * owner     Each structure owns its lock.
 * locks     Ranks: drain < slab class < runs < big < metadata; a thread takes locks in this order only.
 * orders    Taking is acquire, dropping is release.
 * hot path  No. In a process that never made a thread, taking and dropping have no lock prefix (HAK_ELIDE_LOCKS).
 * failure   A thread that takes a lock which the thread already holds ends in the re-entry message.
 * not here  The rebuilding: the owner of each lock.
 */
#ifndef HAK_OS_LOCK_H
#define HAK_OS_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/config.h"
#include "os/alone.h"
#include "os/fork.h"
#include "os/self.h"

struct hak_lock {
  uint64_t word;
};

#define HAK_LOCK_SLEEPERS 1u

/* The word of a lock that this thread holds, without sleepers. */
static inline uint64_t hak_lock_mine(void) {
  uint64_t number = hak_load(&hak_self.number);
  return HAK_LIKELY(number != 0) ? number : hak_fork_number();
}

/* The slow path of hak_lock_take. */
bool hak_lock_wait(struct hak_lock *lock, uint64_t mine);
void hak_lock_wake(struct hak_lock *lock);

/* Takes the lock. True: taken over from a thread that a fork left behind; rebuild the guarded data now. */
static inline bool hak_lock_take(struct hak_lock *lock) {
  uint64_t mine = hak_lock_mine(), seen = 0;
  if (hak_is_single_threaded() && hak_set_unshared(&lock->word, mine)) return false;
  if (HAK_LIKELY(hak_cas_acquire(&lock->word, &seen, mine))) return false;
  return hak_lock_wait(lock, mine);
}

/* True if this thread holds the lock: a signal handler that interrupted the holder must not take it. */
static inline bool hak_lock_is_mine(const struct hak_lock *lock) {
  return (hak_load(&lock->word) & ~(uint64_t)HAK_LOCK_SLEEPERS) == hak_lock_mine();
}

static inline void hak_lock_drop(struct hak_lock *lock) {
  if (hak_is_single_threaded()) {
    hak_store_release(&lock->word, 0);
    return;
  }
  if (HAK_UNLIKELY(hak_swap_release(&lock->word, 0) & HAK_LOCK_SLEEPERS)) hak_lock_wake(lock);
}

#endif
