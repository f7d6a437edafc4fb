/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* follow.c: see follow.h.
 *
 * what      The five kinds of stop of a seized process, and how each is continued.
 * owner     The launcher.
 * locks     None.
 * orders    None.
 * hot path  None.
 * failure   A process that vanishes between its stop and the answer is forgotten.
 * not here  The wait loop: launcher.c.
 */
#define _GNU_SOURCE
#include "follow.h"
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { path_bytes = 4096 };
static int list_file = -1;

bool follow_start(pid_t pid, int list)
{
  long births = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
  list_file = list;
  return ptrace(PTRACE_SEIZE, pid, NULL, births | PTRACE_O_TRACEEXEC) == 0;
}

static void note_program(pid_t pid)
{
  char link[32];
  char path[path_bytes];
  char entry[path_bytes + 32];
  snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
  ssize_t length = readlink(link, path, sizeof path - 1);
  path[length < 0 ? 0 : length] = '\0';
  int bytes = snprintf(entry, sizeof entry, "%d %s", (int)pid, path) + 1;
  if (write(list_file, entry, (size_t)bytes) != bytes)
    list_file = -1;
}

static bool stops_whole_group(int signal_number)
{
  return signal_number == SIGSTOP || signal_number == SIGTSTP || signal_number == SIGTTIN || signal_number == SIGTTOU;
}

void follow_stop(pid_t pid, int status)
{
  int event = status >> 16;
  int signal_number = WSTOPSIG(status);
  if (event == PTRACE_EVENT_EXEC)
    note_program(pid);
  if (event == 0) /* delivery of a signal */
    ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)signal_number);
  else if (event == PTRACE_EVENT_STOP && stops_whole_group(signal_number))
    ptrace(PTRACE_LISTEN, pid, NULL, NULL); /* stays stopped until SIGCONT, as without a tracer */
  else
    ptrace(PTRACE_CONT, pid, NULL, NULL);
}
