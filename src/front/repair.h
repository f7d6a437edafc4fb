/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* repair.h: what a fork cut is put right in the child.
 *
 * what      The first slow door that notices the fork forgets what other threads had claimed. Their magazines are taken
 *           apart a few at a time: there may be thousands, and most children soon execute another program.
 *
 *               child: threads gone -> their magazines: bit set? drop : put back -> context free for the next thread
 *
 * owner     g_repair (in repair.c).
 * locks     Only the boxes', inside their calls; every lock repairs itself.
 * orders    The generation is stored with release after the repair.
 * hot path  No; one comparison per slow door.
 * not here  Noticing a fork: os/fork.h. What a magazine held: front/thread.c.
 */
#ifndef HAK_FRONT_REPAIR_H
#define HAK_FRONT_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/fork.h"

struct hak_context;
struct hak_repair {
  uint64_t generation;         /* of forks */
  struct hak_context *to_bury; /* the next context whose thread may have vanished in the last fork; NULL: none */
};
extern HAK_HIDDEN struct hak_repair g_repair;

/* Is this a fork's child that was not repaired yet? */
static inline bool hak_repair_is_due(void) {
  return hak_fork_happened() || hak_load_acquire(&g_repair.generation) != hak_load(&g_fork.generation);
}

/* Repairs, if it is due and nobody else does it, and buries some of the vanished threads. True: there may be more. With
 * no lock held. */
bool hak_repair_some(void);

/* Buries all that are left. */
void hak_repair_all(void);

#endif
