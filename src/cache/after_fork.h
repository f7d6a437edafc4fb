/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* after_fork.h: what a fork cut is put right in the child.
 *
 * what      The first slow door that notices the fork forgets what other threads had claimed. Their magazines are taken
 *           apart a few at a time: there may be thousands, and most children soon execute another program.
 *
 *               child: threads gone -> their magazines: bit set? drop : put back -> context free for the next thread
 *
 * owner     g_after_fork (in after_fork.c).
 * locks     Only the boxes', inside their calls; every lock repairs itself.
 * orders    The generation is stored with release after the repair.
 * hot path  No; one comparison per slow door.
 * not here  Noticing a fork: os/fork.h. What a magazine held: entry/thread.c.
 */
#ifndef HAK_CACHE_AFTER_FORK_H
#define HAK_CACHE_AFTER_FORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/fork.h"

struct hak_context;
struct hak_after_fork {
  uint64_t generation;         /* of forks */
  struct hak_context *to_bury; /* the next context whose thread may have vanished in the last fork; NULL: none */
};
extern HAK_HIDDEN struct hak_after_fork g_after_fork;

/* Is this a fork's child that was not repaired yet? */
static inline bool hak_after_fork_is_due(void) {
  return hak_fork_happened() || hak_load_acquire(&g_after_fork.generation) != hak_load(&g_fork.generation);
}

/* Repairs, if it is due and nobody else does it, and buries some of the vanished threads. True: there may be more. With
 * no lock held. */
bool hak_after_fork_some(void);

/* Buries all that are left. */
void hak_after_fork_all(void);

#endif
