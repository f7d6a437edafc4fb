/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* attend.c: hak_attend, the parent of `hakmem exec --stats`: waits for a program and sums up what it used.
 *
 *     hak_attend LIBRARY PROGRAM NAME [ARGUMENT...]
 *
 * what      Forks, executes the file PROGRAM by the name NAME, waits, and writes a few lines to stderr: time, peak
 *           memory and faults as the kernel has them, whether LIBRARY served, what HAKMEM counted.
 *
 *               hak_attend --fork--> the program: LD_PRELOAD (as it came), HAKPROBE_FILE, HAKMEM_COUNTERS_FILE
 *                   ^ wait4 <-------------/                \---> files in a folder of its own, which is removed
 *
 *           Other signals than the terminal's are passed on.
 * owner     A folder beside the temporary files.
 * locks     None; one thread.
 * hot path  None. Static and small: the kernel counts the pages held at exec into the program's peak, and LD_PRELOAD in
 *           its environment is meant for the program.
 * failure   Ends as the program ended, by its status or its signal. 126, 127: it could not be executed; 125: a line says
 *           what else failed. Where there is no folder, the lines lack what would be in it.
 * not here  What the files say: account.c. Why a program cannot be served: the Python package, before.
 */
#define _GNU_SOURCE
#include "account.h"
#include "ending.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct order {
  const char *library, *program;
  char **argv;
};

/* What else ends a program or tells it something. The terminal sends the first two to the program, too. */
static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH};
enum { n_passed_on = sizeof passed_on / sizeof passed_on[0] };

static volatile sig_atomic_t program_pid;
static struct sigaction callers[n_passed_on];

static int fail(const char *what)
{
  fprintf(stderr, "hakmem: %s: %s\n", what, strerror(errno));
  return own_failure;
}

/* What the terminal or the kernel sent, all of its processes have. */
static void pass_on(int signal_number, siginfo_t *about, void *context)
{
  int kept = errno;
  (void)context;
  if (program_pid > 0 && about->si_code <= 0)
    kill((pid_t)program_pid, signal_number);
  errno = kept;
}

static void take_signals(void)
{
  struct sigaction pass = {.sa_sigaction = pass_on, .sa_flags = SA_RESTART | SA_SIGINFO};
  for (int i = 0; i < n_passed_on; i++)
    if (sigaction(passed_on[i], NULL, &callers[i]) == 0 && callers[i].sa_handler != SIG_IGN)
      sigaction(passed_on[i], &pass, NULL);
}

static void give_signals_back(void)
{
  for (int i = 0; i < n_passed_on; i++)
    sigaction(passed_on[i], &callers[i], NULL);
}

/* ---- the folder ---- */

static bool set_file(const char *variable, const char *folder, const char *name, int replace)
{
  char path[PATH_MAX];
  int length = snprintf(path, sizeof path, "%s/%s", folder, name);
  return length < (int)sizeof path && setenv(variable, path, replace) == 0;
}

/* "" where it cannot be made. A counters file that the caller asked for stays his. */
static void make_folder(char folder[PATH_MAX])
{
  const char *parent = getenv("TMPDIR");
  bool named = parent != NULL && parent[0] == '/';
  int length = snprintf(folder, PATH_MAX, "%s/hakmem-exec-XXXXXX", named ? parent : "/tmp");
  bool made = length < PATH_MAX - 16 && mkdtemp(folder) != NULL;
  if (!made || !set_file("HAKPROBE_FILE", folder, "proof", 1) || !set_file("HAKMEM_COUNTERS_FILE", folder, "counts", 0))
    folder[0] = '\0';
}

static void remove_folder(const char *folder)
{
  DIR *open = opendir(folder);
  if (open == NULL)
    return;
  for (struct dirent *entry; (entry = readdir(open)) != NULL;)
    unlinkat(dirfd(open), entry->d_name, 0);
  closedir(open);
  rmdir(folder);
}

/* ---- the program ---- */

static _Noreturn void become(const struct order *order, pid_t parent, int says_why)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(own_failure);
  give_signals_back();
  execv(order->program, order->argv);
  int why = errno;
  ssize_t written = write(says_why, &why, sizeof why);
  _exit(written == (ssize_t)sizeof why ? no_such_command : own_failure);
}

static int run(const struct order *order, struct command_end *end)
{
  int says_why[2];
  pid_t parent = getpid();
  if (pipe2(says_why, O_CLOEXEC) != 0)
    return fail("pipe");
  uint64_t start = now_ns();
  pid_t pid = fork();
  if (pid < 0)
    return fail("fork");
  if (pid == 0)
    become(order, parent, says_why[1]);
  program_pid = pid;
  close(says_why[1]);
  while (wait4(pid, &end->status, 0, &end->used) < 0 && errno == EINTR)
    ;
  end->wall_ns = now_ns() - start;
  end->exec_errno = read_exec_errno(says_why[0]);
  return 0;
}

/* ---- the lines ---- */

static double seconds(struct timeval t)
{
  return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void print_end(const char *name, int status)
{
  const char *known = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
  if (known != NULL)
    fprintf(stderr, "hakmem exec: %s was killed by SIG%s\n", name, known);
  else if (WIFSIGNALED(status))
    fprintf(stderr, "hakmem exec: %s was killed by signal %d\n", name, WTERMSIG(status));
  else
    fprintf(stderr, "hakmem exec: %s exited with %d\n", name, WEXITSTATUS(status));
}

static void print_summary(const struct order *order, const struct command_end *end, const char *folder)
{
  const struct rusage *used = &end->used;
  print_end(order->argv[0], end->status);
  fprintf(stderr, "  time         %.3f s; of CPU %.3f s\n", (double)end->wall_ns / 1e9,
          seconds(used->ru_utime) + seconds(used->ru_stime));
  fprintf(stderr, "  peak memory  %s, the largest process as the kernel has it; %s page faults\n",
          as_bytes((double)used->ru_maxrss * 1024),
          grouped((unsigned long long)used->ru_minflt + (unsigned long long)used->ru_majflt));
  if (folder[0] != '\0')
    account_print(stderr, folder, order->library, (pid_t)program_pid);
}

int main(int argc, char **argv)
{
  if (argc < 4) {
    fprintf(stderr, "usage: hak_attend LIBRARY PROGRAM NAME [ARGUMENT...]\n");
    return own_failure;
  }
  struct order order = {argv[1], argv[2], argv + 3};
  char folder[PATH_MAX];
  struct command_end end = {0};
  make_folder(folder);
  take_signals();
  int failed = run(&order, &end);
  if (failed == 0 && end.exec_errno != 0)
    fprintf(stderr, "hakmem: %s: %s\n", order.argv[0], strerror(end.exec_errno));
  else if (failed == 0)
    print_summary(&order, &end, folder);
  if (folder[0] != '\0')
    remove_folder(folder);
  return failed != 0 ? failed : end_alike(&end);
}
