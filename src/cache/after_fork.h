/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* after_fork.h: repair in a fork's child.
 *
 * what      The first slow path that notices the fork drops claims of threads that the child does not have. Magazines
 *           of vanished threads are emptied ("buried") eight threads per slow path: a parent may have thousands of
 *           threads, and most children soon call exec.
 *
 *              child: thread vanished -> its magazines' blocks: bit set ? drop : put back -> context free for reuse
 *
 * owner     g_after_fork (in after_fork.c).
 * locks     Only those of src/blocks and src/runs, inside calls; each lock repairs its own data after a fork.
 * orders    The generation is swapped by one thread with acquire and release; to_bury is stored with release after the
 *           repair.
 * hot path  No; one comparison per slow path.
 * not here  Noticing a fork: os/fork.h. Magazines: cache/magazine.h.
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
  uint64_t generation;         /* number of forks, as of the last repair */
  struct hak_context *to_bury; /* cursor: the next context whose thread may have vanished; NULL: none */
};
extern HAK_HIDDEN struct hak_after_fork g_after_fork;

/* True in a fork's child before the repair. */
static inline bool hak_after_fork_is_due(void) {
  return hak_fork_happened() || hak_load_acquire(&g_after_fork.generation) != hak_load(&g_fork.generation);
}

/* Repairs, if due and no other thread repairs, and buries some of the vanished threads. True: more may be left. Locks:
 * none held. */
bool hak_after_fork_some(void);

/* Buries all vanished threads that are left. */
void hak_after_fork_all(void);

#endif
