/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ending.c: how a command ended, and how to end in the same way.
 *
 * what      See ending.h.
 */
#include "ending.h"
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int read_exec_errno(int from)
{
  int why = 0;
  return read(from, &why, sizeof why) == (ssize_t)sizeof why ? why : 0;
}

const char *name_of_signal(int number)
{
  static const char *const names[] = {
    [SIGABRT] = "ABRT", [SIGALRM] = "ALRM", [SIGBUS] = "BUS", [SIGCHLD] = "CHLD", [SIGCONT] = "CONT", [SIGFPE] = "FPE",
    [SIGHUP] = "HUP", [SIGILL] = "ILL", [SIGINT] = "INT", [SIGKILL] = "KILL", [SIGPIPE] = "PIPE", [SIGPOLL] = "POLL",
    [SIGPROF] = "PROF", [SIGPWR] = "PWR", [SIGQUIT] = "QUIT", [SIGSEGV] = "SEGV", [SIGSTKFLT] = "STKFLT",
    [SIGSTOP] = "STOP", [SIGSYS] = "SYS", [SIGTERM] = "TERM", [SIGTRAP] = "TRAP", [SIGTSTP] = "TSTP",
    [SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU", [SIGURG] = "URG", [SIGUSR1] = "USR1", [SIGUSR2] = "USR2",
    [SIGVTALRM] = "VTALRM", [SIGWINCH] = "WINCH", [SIGXCPU] = "XCPU", [SIGXFSZ] = "XFSZ",
  };
  return number >= 0 && (size_t)number < sizeof names / sizeof names[0] ? names[number] : NULL;
}

int end_alike(const struct command_end *end)
{
  if (end->exec_errno != 0)
    return end->exec_errno == ENOENT ? no_such_command : cannot_execute;
  if (!WIFSIGNALED(end->status))
    return WEXITSTATUS(end->status);
  int signal_number = WTERMSIG(end->status);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  signal(signal_number, SIG_DFL);
  raise(signal_number);
  return 128 + signal_number;
}
