/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lanes.h: the threads of a trace, and the library's own, on one thread of the model's.
 *
 * what      A lane holds what the library keeps for each thread: its context, its words of os/self.h, the value of the
 *           key by which it learns of the thread's end. Who is to make a call is put in; the last one is taken out.
 *
 *               lane 0 | lane 1 ...        one call after the other, as they were recorded
 *               the library's helper       a stack of its own; runs from one sleep to the next when its time has come
 *
 *           What os/thread.h promises is kept here: a helper's sleep ends when the clock says so, or when it is woken.
 * owner     The process.
 * locks     None: nothing of this runs at the same time as anything else.
 * failure   No memory: the program ends with a line that says so.
 */
#ifndef HAK_TOOLS_LANES_H
#define HAK_TOOLS_LANES_H

#include <stdbool.h>
#include <stdint.h>

/* So many threads, all to begin. */
void lanes_make(uint32_t threads);

/* This thread is the caller from here on. */
void lanes_enter(uint32_t lane);

/* The present one ends. */
void lanes_end(void);

/* All that the helper does until then, each at its time. */
void lanes_let_helper_run(uint64_t ns);

/* How often it woke up. */
uint64_t lanes_helper_steps(void);

#endif
