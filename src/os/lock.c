/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lock.c: a lock that knows its owner.
 *
 * what      Waiting, waking and takeover; see lock.h for the word.
 * orders    See lock.h. The futex sleeps on the low half of the word.
 * failure   A thread that waits for a lock that the thread itself holds ends the process.
 * not here  Fairness: a woken thread competes again.
 */
#define _GNU_SOURCE
#include "os/lock.h"

#include <linux/futex.h>
#include <stddef.h>
#include <time.h>

#include "os/call.h"
#include "os/die.h"
#include "os/os.h"

enum { SPINS = 100 };

/* The half of the word with the sleepers bit and the changing half of the owner's number. */
static uint32_t *futex_word(struct hak_lock *lock) {
  return (uint32_t *)(void *)&lock->word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 1 : 0);
}

/* A wait has a limit although a waker always comes: after a signal handler that forked, the kernel would restart a wait
 * without limit, and the child has no thread to wake the sleeper. A wait with a limit returns. */
static const struct timespec patience = {.tv_sec = 1};

static void futex_on_lock(struct hak_lock *lock, int operation, uint32_t value) {
  hak_os_tally(HAK_OS_FUTEX);
  HAK_KERNEL(SYS_futex, futex_word(lock), operation | FUTEX_PRIVATE_FLAG, value, &patience);
}

void hak_lock_wake(struct hak_lock *lock) { futex_on_lock(lock, FUTEX_WAKE, 1); }

static uint64_t owner_of(uint64_t word) { return word & ~(uint64_t)HAK_LOCK_SLEEPERS; }

static bool spin(struct hak_lock *lock, uint64_t mine) {
  for (int i = 0; i < SPINS; i++) {
    uint64_t seen = 0;
    if (hak_load(&lock->word) == 0 && hak_cas_acquire(&lock->word, &seen, mine)) return true;
    hak_pause();
  }
  return false;
}

static void sleep_on(struct hak_lock *lock, uint64_t seen) {
  if (!(seen & HAK_LOCK_SLEEPERS) && !hak_cas_acquire(&lock->word, &seen, seen | HAK_LOCK_SLEEPERS)) return;
  futex_on_lock(lock, FUTEX_WAIT, (uint32_t)(seen | HAK_LOCK_SLEEPERS));
}

bool hak_lock_wait(struct hak_lock *lock, uint64_t mine) {
  if (spin(lock, mine)) return false;
  for (;;) {
    if (hak_fork_happened()) hak_fork_notice();
    uint64_t seen = hak_load(&lock->word);
    bool vanished = seen != 0 && hak_fork_left_behind(owner_of(seen));
    if (seen == 0 || vanished) {
      if (hak_cas_acquire(&lock->word, &seen, mine | HAK_LOCK_SLEEPERS)) return vanished;
      continue;
    }
    if (owner_of(seen) == mine) hak_die(HAK_ERROR_reentry, NULL, 0, NULL);
    sleep_on(lock, seen);
  }
}
