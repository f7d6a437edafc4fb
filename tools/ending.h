/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ending.h: how a command ended, and how to end the same way.
 *
 * what      Shared by the two that wait for a command: launcher.c and attend.c.
 */
#ifndef HAKMEM_TOOLS_ENDING_H
#define HAKMEM_TOOLS_ENDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/time.h>

enum { own_failure = 125, cannot_execute = 126, no_such_command = 127 };

struct command_end {
  int status;
  int exec_errno;
  bool left;
  uint64_t wall_ns;
  struct rusage used;
};

uint64_t now_ns(void);

/* Called when the command has ended. 0 when exec succeeded: it closed the pipe without a word. */
int read_exec_errno(int from);

/* Ends as the command ended, without a core dump of its own: the exit status, where it returns. */
int end_alike(const struct command_end *end);

#endif
