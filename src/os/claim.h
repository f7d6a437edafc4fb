/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* claim.h: work that a single thread does at a time, and that other threads may leave to it.
 *
 * what      A lock that is only tried, or tried until its holder is done (hak_claim_wait). The claim names the
 *           generation of forks in which a thread took the claim: a claim of a thread that a fork left behind is free
 *           in the child.
 *
 *               word   0: free     1 + generation (os/fork.h): claimed     1 + an earlier generation: free
 *
 * owner     Each structure owns its claim.
 * orders    Taking is acquire, dropping is release.
 * failure   hak_claim_take returns false: another thread does the work.
 * not here  Waiting: lock.h.
 */
#ifndef HAK_OS_CLAIM_H
#define HAK_OS_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "os/fork.h"
#include "os/thread.h"

struct hak_claim {
  uint64_t word;
};

static inline bool hak_claim_take(struct hak_claim *claim) {
  uint64_t seen = hak_load(&claim->word), mine = 1 + hak_load(&g_fork.generation);
  return seen != mine && hak_cas_acquire(&claim->word, &seen, mine);
}

/* The same, where the work must not be left out: waits as long as another thread's takes, a second or two at most. */
static inline bool hak_claim_wait(struct hak_claim *claim) {
  enum { TRIES = 1000 };
  for (unsigned i = 0; i < TRIES; i++) {
    if (hak_claim_take(claim)) return true;
    hak_os_rest();
  }
  return false;
}

static inline void hak_claim_drop(struct hak_claim *claim) { hak_store_release(&claim->word, 0); }

#endif
