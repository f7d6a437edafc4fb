/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* launcher.c: hak_launcher, which runs one command as its direct child and reports the command's use of the machine.
 *
 *    hak_launcher [-e] [-f LIST | -s SAMPLES] REPORT COMMAND [ARGUMENT...]
 *
 * what      Forks, executes COMMAND (looked up in PATH), waits, and writes one line of name=value pairs to REPORT, a
 *           file's path or fd:N:
 *            pid=7 wall_ns=1 user_us=1 sys_us=1 maxrss_kib=1 minflt=1 majflt=0 nvcsw=1 nivcsw=0 exit=0 signal=0
 *            exec_errno=0 left=0
 *           The figures are wait4's: the command and every descendant that was waited for (nvcsw and nivcsw are
 *           voluntary and involuntary context switches). left=1: processes of the command were still running at its
 *           end; with -e, still half a second later, and then they are ended (left.h). With -f, each executed program is listed in the file LIST (follow.h); LIST stays empty where tracing
 *           is not allowed. With -s, the memory of the whole tree is written to the file SAMPLES every 10 ms
 *           (samples.h), and times, faults and switches cover every ended process, orphans too.
 * owner     The caller owns REPORT. The launcher dies with the caller, and the command with the launcher.
 * locks     None; single-threaded.
 * orders    None.
 * hot path  None. Small and statically linked, because the kernel counts the pages held at exec into the command's
 *           peak RSS, and because LD_PRELOAD in the environment is meant for the command only.
 * failure   Ends as the command ended, by exit status or signal. 127: no such command, 126: the command cannot be
 *           executed, 125: the launcher failed; only 125 prints a line besides the report.
 * not here  Preloading, repetition, judgement: the Python package.
 */
#define _GNU_SOURCE
#include "ending.h"
#include "follow.h"
#include "left.h"
#include "samples.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The terminal sends SIGINT and SIGQUIT to the whole group, so the launcher only has to outlive these signals and
 * report; SIGTERM and SIGHUP may be sent to the launcher alone and are passed on. */
static const int outlived[] = {SIGINT, SIGQUIT};
static const int passed_on[] = {SIGTERM, SIGHUP};
enum { n_outlived = 2, n_passed_on = 2, patience_ms = 500 };

struct order {
  bool ends_left;
  const char *list;
  const char *samples;
  const char *report;
  char **command;
};

static pid_t command_pid;
static volatile sig_atomic_t takes_signals; /* the command's process id while it is there */
static struct sigaction callers_outlived[n_outlived];
static struct sigaction callers_passed_on[n_passed_on];

static int fail(const char *what)
{
  fprintf(stderr, "hak_launcher: %s: %s\n", what, strerror(errno));
  return own_failure;
}

static void pass_on(int signal_number)
{
  int kept = errno;
  if (takes_signals > 0)
    kill((pid_t)takes_signals, signal_number);
  errno = kept;
}

/* The signal itself ends the sleep between two samples. */
static void wake(int signal_number)
{
  (void)signal_number;
}

static void take_signals(void)
{
  struct sigaction outlive = {.sa_handler = SIG_IGN};
  struct sigaction pass = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
  for (int i = 0; i < n_outlived; i++)
    sigaction(outlived[i], &outlive, &callers_outlived[i]);
  for (int i = 0; i < n_passed_on; i++)
    sigaction(passed_on[i], &pass, &callers_passed_on[i]);
}

static void give_signals_back(void)
{
  for (int i = 0; i < n_outlived; i++)
    sigaction(outlived[i], &callers_outlived[i], NULL);
  for (int i = 0; i < n_passed_on; i++)
    sigaction(passed_on[i], &callers_passed_on[i], NULL);
}

/* Dies with `parent`, also if the parent is dead already. */
static void follow_to_death(pid_t parent)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(own_failure);
}

/* Returns when the launcher has closed its end of the pipe, and so has attached if requested. */
static void wait_for_leave(const int leave[2])
{
  char nothing;
  close(leave[1]);
  while (read(leave[0], &nothing, 1) < 0 && errno == EINTR)
    ;
}

static _Noreturn void become(char **command, pid_t launcher, int says_why, const int leave[2])
{
  follow_to_death(launcher);
  give_signals_back();
  wait_for_leave(leave);
  execvp(command[0], command);
  int why = errno;
  ssize_t written = write(says_why, &why, sizeof why);
  _exit(written == (ssize_t)sizeof why ? no_such_command : own_failure);
}

/* Writes a line every 10 ms until a descendant has ended. */
static void sample_until_end(void)
{
  siginfo_t ended = {0};
  while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0) {
    samples_take();
    samples_sleep();
  }
}

/* Waits for the command. The launcher is a subreaper: orphans of the command are reaped meanwhile. */
static void wait_for_command(pid_t pid, struct command_end *end)
{
  for (;;) {
    if (samples_asked())
      sample_until_end();
    pid_t who = wait4(-1, &end->status, __WALL, &end->used);
    if (who > 0 && WIFSTOPPED(end->status))
      follow_stop(who, end->status);
    else if (who == pid || (who < 0 && errno != EINTR))
      return;
  }
}

static void follow_into(const char *list, pid_t pid)
{
  int file = open(list, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0)
    follow_start(pid, file);
}

static int begin_samples(const char *path)
{
  struct sigaction ends = {.sa_handler = wake, .sa_flags = SA_NOCLDSTOP};
  sigaction(SIGCHLD, &ends, NULL);
  return samples_start(path) ? 0 : fail(path);
}

static int finish_samples(struct command_end *end)
{
  struct rusage all;
  getrusage(RUSAGE_CHILDREN, &all);
  end->used = all;
  return samples_end() ? 0 : fail("samples");
}

static int run_command(const struct order *order, struct command_end *end)
{
  int says_why[2];
  int leave[2];
  if (pipe2(says_why, O_CLOEXEC) != 0 || pipe2(leave, O_CLOEXEC) != 0)
    return fail("pipe");
  pid_t launcher = getpid();
  uint64_t start = now_ns();
  pid_t pid = fork();
  if (pid < 0)
    return fail("fork");
  if (pid == 0)
    become(order->command, launcher, says_why[1], leave);
  takes_signals = command_pid = pid;
  close(says_why[1]);
  if (order->list != NULL)
    follow_into(order->list, pid);
  close(leave[1]);
  wait_for_command(pid, end);
  end->wall_ns = now_ns() - start;
  end->exec_errno = read_exec_errno(says_why[0]);
  takes_signals = 0;
  end->left = order->ends_left ? left_outlast(patience_ms) : left_run();
  return 0;
}

static long long microseconds(struct timeval t)
{
  return (long long)t.tv_sec * 1000000 + t.tv_usec;
}

static int format_report(char *line, size_t size, const struct command_end *end)
{
  const struct rusage *u = &end->used;
  int status = end->status;
  return snprintf(line, size,
                  "pid=%d wall_ns=%llu user_us=%lld sys_us=%lld maxrss_kib=%ld minflt=%ld majflt=%ld "
                  "nvcsw=%ld nivcsw=%ld exit=%d signal=%d exec_errno=%d left=%d\n",
                  (int)command_pid, (unsigned long long)end->wall_ns, microseconds(u->ru_utime),
                  microseconds(u->ru_stime), u->ru_maxrss, u->ru_minflt, u->ru_majflt, u->ru_nvcsw,
                  u->ru_nivcsw, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                  WIFSIGNALED(status) ? WTERMSIG(status) : 0, end->exec_errno, end->left ? 1 : 0);
}

static int open_report(const char *where)
{
  if (strncmp(where, "fd:", 3) == 0)
    return fcntl(atoi(where + 3), F_DUPFD_CLOEXEC, 3);
  return open(where, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

static int write_report(int report, const struct command_end *end)
{
  char line[512];
  int length = format_report(line, sizeof line, end);
  return write(report, line, (size_t)length) == length ? 0 : fail("report");
}

static bool read_order(int argc, char **argv, struct order *order)
{
  int at = 1;
  if (at < argc && strcmp(argv[at], "-e") == 0) {
    order->ends_left = true;
    at++;
  }
  if (at + 1 < argc && strcmp(argv[at], "-f") == 0)
    order->list = argv[++at];
  else if (at + 1 < argc && strcmp(argv[at], "-s") == 0)
    order->samples = argv[++at];
  at += order->list != NULL || order->samples != NULL;
  if (argc < at + 2)
    return false;
  order->report = argv[at];
  order->command = argv + at + 1;
  return true;
}

int main(int argc, char **argv)
{
  struct order order = {0};
  if (!read_order(argc, argv, &order)) {
    fprintf(stderr, "usage: hak_launcher [-e] [-f LIST | -s SAMPLES] REPORT COMMAND [ARGUMENT...]"
                    "   (REPORT: a file, or fd:N)\n");
    return own_failure;
  }
  int report = open_report(order.report);
  if (report < 0)
    return fail(order.report);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  take_signals();
  struct command_end end = {0};
  int failed = order.samples != NULL ? begin_samples(order.samples) : 0;
  if (failed == 0)
    failed = run_command(&order, &end);
  if (failed == 0 && samples_asked())
    failed = finish_samples(&end);
  if (order.ends_left)
    left_end();
  if (failed == 0)
    failed = write_report(report, &end);
  return failed != 0 ? failed : end_alike(&end);
}
