/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ending.h: how a command ended, and how to end in the same way.
 *
 * what      Shared by launcher.c and attend.c, which wait for a command.
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

/* After the end of the command. 0: exec succeeded and closed the pipe without a word. */
int read_exec_errno(int from);

/* Without SIG; NULL for a number without a name. musl has no sigabbrev_np. */
const char *name_of_signal(int number);

/* Ends by the command's signal, without a core dump, or returns the exit status to end with. */
int end_alike(const struct command_end *end);

#endif
