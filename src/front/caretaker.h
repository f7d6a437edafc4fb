/* caretaker.h: what concerns all threads and boxes at once.
 *
 * what      The repair of what a fork cut, and one rule between boxes: memory kept free (big blocks
 *           in their cache, dirty runs) does not raise the peak. When more is mapped than ever before, what is kept
 *           free goes back first; but no more per millisecond than costs a few percent of the time to fault in again:
 *           where sizes come and go, memory kept free raises the peak in small steps until none has to go back.
 *
 *               now = range - clean runs + big blocks, live and kept       ____/~~~~\____/~~  <= peak
 *
 * owner     g_caretaker (in caretaker.c).
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
#include "core/range.h"
#include "os/fork.h"

struct hak_caretaker {
  uint64_t repaired_generation; /* of forks */
  uint64_t range_bytes;         /* as last looked at */
  uint64_t peak_bytes;          /* the most that could not be avoided */
  uint64_t given_bytes;         /* back of late, a leaking bucket */
  uint64_t given_ms;            /* when it was last looked at */
};
extern HAK_HIDDEN struct hak_caretaker g_caretaker;

/* Is this a fork's child that was not repaired yet, or has the range grown? */
static inline bool hak_caretaker_is_due(void) {
  return hak_fork_happened() ||
         hak_load_acquire(&g_caretaker.repaired_generation) != hak_load(&g_fork.generation) ||
         hak_load(&g_caretaker.range_bytes) != hak_load(&g_range.mapped);
}

/* Takes the magazines of vanished threads apart, and balances. At the head of a slow door, with no lock held. */
void hak_caretaker_act(void);

/* After big blocks came or went, or the range grew: gives back what is kept free and would raise the peak. */
void hak_caretaker_balance(void);

#endif
