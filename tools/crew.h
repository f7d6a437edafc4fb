/* crew.h: carries out a plan, with a thread for each of its threads.
 *
 * what      The caller is the plan's first thread; each other begins when its first epoch does, and ends with its last
 *           call, as the recorded one did. A thread that frees a block of another waits until it is there.
 * owner     One crew for one plan, round after round.
 * failure   A thread that cannot be started ends the program with a line; an allocation that fails is counted.
 */
#ifndef HAK_TOOLS_CREW_H
#define HAK_TOOLS_CREW_H

#include "plan.h"

enum touch { touch_none, touch_first, touch_all };

/* Before the first round, not measured. */
void crew_make(const struct plan *plan, enum touch touch);

struct outcome {
  uint64_t failures;  /* allocations that failed */
  uint64_t waited_ns; /* processor time spent waiting for the blocks of other threads */
};

/* All calls, from the first to the end of the last thread. */
struct outcome crew_run(void);

/* Frees what was left, for another round. */
void crew_clear(void);

#endif
