/* SPDX-License-Identifier: MIT OR Apache-2.0 */
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

/* Says which call site the next call of this thread is taken to come from. */
typedef void crew_ask_as(uint64_t address, uint64_t depth);

/* Before the first round, not measured. ask_as: for a plan with sites. */
void crew_make(const struct plan *plan, enum touch touch, crew_ask_as *ask_as);

struct outcome {
  uint64_t failures;  /* allocations that failed */
  uint64_t waited_ns; /* processor time spent waiting for the blocks of other threads */
};

/* All calls, from the first to the end of the last thread. */
struct outcome crew_run(void);

/* Frees what was left, for another round. */
void crew_clear(void);

#endif
