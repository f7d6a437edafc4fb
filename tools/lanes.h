/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lanes.h: the threads of a trace, and the library's background thread, on the model's only thread.
 *
 * what      A lane holds the library's thread-local state: context, words of os/self.h, value of the key with the exit
 *           hook. Before a call the caller's lane is copied in, and the previous lane copied out.
 *
 *              lane 0 | lane 1 ...               call after call, in recorded order
 *              the library's background thread   with its own stack; runs from sleep to sleep, at the due time
 *
 *           The promises of os/thread.h hold: a sleep of the background thread ends by the clock or by a wake.
 * owner     The process.
 * locks     None: nothing runs concurrently.
 * failure   No memory: the program ends with a line.
 */
#ifndef HAK_TOOLS_LANES_H
#define HAK_TOOLS_LANES_H

#include <stdbool.h>
#include <stdint.h>

/* Makes the lanes of `threads` threads, before the first call. */
void lanes_make(uint32_t threads);

/* Makes `lane` the caller of the following calls. */
void lanes_enter(uint32_t lane);

/* Ends the current lane's thread. */
void lanes_end(void);

/* Runs the background thread, each step when due, until `ns`. */
void lanes_let_helper_run(uint64_t ns);

/* Number of the background thread's wake-ups. */
uint64_t lanes_helper_steps(void);

#endif
