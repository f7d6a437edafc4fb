/* caretaker.h: what concerns all threads and boxes at once.
 *
 * what      Trim, statistics, and the repair of what a fork cut.
 * owner     g_caretaker (in caretaker.c): the fork generation that was repaired.
 * locks     Only the boxes', inside their calls.
 * orders    The generation is stored with release after the repair.
 * hot path  No; one comparison per slow door.
 * failure   None.
 * not here  Noticing a fork: os/fork.h.
 */
#ifndef HAK_FRONT_CARETAKER_H
#define HAK_FRONT_CARETAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "os/fork.h"

extern HAK_HIDDEN uint64_t g_repaired_generation;

/* Is this a fork's child that was not repaired yet? */
static inline bool hak_caretaker_is_due(void) {
  return hak_fork_happened() || hak_load_acquire(&g_repaired_generation) != hak_load(&g_fork.generation);
}

/* Takes the magazines of vanished threads apart. Called at the head of a slow door, with no lock held. */
void hak_caretaker_after_fork(void);

#endif
