/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* follow.h: lists every program that a command and its descendants execute.
 *
 * what      Traces the command with ptrace, with stops only at the birth of a process or thread, exec and signals, and
 *           writes "<pid> <path>\0" to a file for each executed program. A process without LD_PRELOAD, or statically
 *           linked, leaves no record in proof.h's files; this list shows it.
 * owner     The launcher, from follow_start on.
 * locks     None; single-threaded.
 * orders    None.
 * hot path  None: for counted runs only, as fork, exec and signals get slower.
 * failure   Where tracing is not allowed, follow_start is false and the command runs untraced.
 * not here  Waiting and reporting: launcher.c.
 */
#ifndef HAKMEM_TOOLS_FOLLOW_H
#define HAKMEM_TOOLS_FOLLOW_H

#include <stdbool.h>
#include <sys/types.h>

/* Attaches to `pid`, a child before the first exec. The list goes to the open file `list`. */
bool follow_start(pid_t pid, int list);

/* Records the event of the stopped process and continues the process. `status` is wait4's. */
void follow_stop(pid_t pid, int status);

#endif
