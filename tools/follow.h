/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* follow.h: hears of every program that a command and its descendants execute.
 *
 * what      Traces the command with ptrace, stopping it only where a process or thread is born, executes a program or
 *           gets a signal, and writes "<pid> <path>\0" to a file for each executed program. A process that loses
 *           LD_PRELOAD, or is linked statically, leaves no record in proof.h's files; this is how it is noticed.
 * owner     The launcher, from follow_start to its end.
 * locks     None; one thread.
 * orders    None.
 * hot path  None: for counted runs only, because it slows down fork, exec and signals.
 * failure   Where tracing is not allowed, follow_start is false and the command runs as without it.
 * not here  Waiting and reporting (launcher.c).
 */
#ifndef HAKMEM_TOOLS_FOLLOW_H
#define HAKMEM_TOOLS_FOLLOW_H

#include <stdbool.h>
#include <sys/types.h>

/* Attaches to `pid`, a child that has not executed anything yet. The list goes to the open file `list`. */
bool follow_start(pid_t pid, int list);

/* Notes what the stopped process did and lets it go on. `status` is wait4's. */
void follow_stop(pid_t pid, int status);

#endif
