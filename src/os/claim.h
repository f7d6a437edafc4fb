/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* claim.h: work that one thread does at a time, and that no other waits for.
 *
 * what      A lock that is only tried. A thread that a fork left behind holds it no more: the claim names the
 *           generation of forks that it was taken in.
 *
 *               word   0: free     1 + generation (os/fork.h): claimed; of an earlier generation: free, too
 * owner     Each structure owns its claim.
 * orders    Taking is acquire, dropping is release.
 * failure   False: another thread does the work.
 * not here  Waiting: lock.h.
 */
#ifndef HAK_OS_CLAIM_H
#define HAK_OS_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "os/fork.h"

struct hak_claim {
  uint64_t word;
};

static inline bool hak_claim_take(struct hak_claim *claim) {
  uint64_t seen = hak_load(&claim->word), mine = 1 + hak_load(&g_fork.generation);
  return seen != mine && hak_cas_acquire(&claim->word, &seen, mine);
}

static inline void hak_claim_drop(struct hak_claim *claim) { hak_store_release(&claim->word, 0); }

#endif
