/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* crew.h: carries out a plan, with a thread for each thread of the plan.
 *
 * what      The caller is the plan's first thread; each further thread begins with its first epoch and ends with its
 *           last call, like the recorded thread. A thread that frees a block of a different thread waits until the
 *           block is there.
 * owner     One crew for one plan, round after round.
 * failure   A thread that cannot be started ends the program with a line; a failed allocation is counted.
 */
#ifndef HAK_TOOLS_CREW_H
#define HAK_TOOLS_CREW_H

#include "plan.h"

enum touch { touch_none, touch_first, touch_all };

/* Sets the call site of the thread's next call. */
typedef void crew_ask_as(uint64_t address, uint64_t depth);

/* Before the first round, not measured. ask_as: for a plan with sites, else NULL. */
void crew_make(const struct plan *plan, enum touch touch, crew_ask_as *ask_as);

struct outcome {
  uint64_t failures;  /* allocations that failed */
  uint64_t waited_ns; /* processor time spent waiting for blocks of different threads */
};

/* Makes all calls; returns when the last thread has ended. */
struct outcome crew_run(void);

/* Frees all blocks that are left, for the next round. */
void crew_clear(void);

#endif
