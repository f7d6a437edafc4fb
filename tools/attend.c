/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* attend.c: hak_attend, the parent process of `hakmem exec --stats` and `--profile`: waits for a program and sums up.
 *
 *    hak_attend [-s] [-p FILE [-c] -i INTERPRETER -m PACKAGE] LIBRARY PROGRAM NAME [ARGUMENT...]
 *
 * what      Forks, executes the file PROGRAM with argv[0] = NAME, and waits. Then -s writes a few lines to stderr:
 *           time, peak memory and faults by the kernel's account, whether LIBRARY served, what was live and resident
 *           at the end, HAKMEM's counters. -p lets the Python package make FILE ("": a name is chosen) and a summary
 *           from the program's table of samples; -c also makes a file for each other process.
 *
 *              hak_attend --fork--> the program: LD_PRELOAD (unchanged), HAKPROBE_FILE, HAKMEM_COUNTERS_FILE,
 *                  ^ wait4 <-------------/        HAKMEM_PROFILE_TABLE ---> files in a temporary folder
 *                  |--fork--> a cleaner: waits until hak_attend ends in any way, and removes the folder
 *                  \--fork--> INTERPRETER -I -B PACKAGE exec-profile FOLDER PID FILE NAME [children]
 *
 *           Signals not sent by the terminal are passed on.
 * owner     A folder in TMPDIR or /tmp; for -p without TMPDIR in /dev/shm.
 * locks     None; single-threaded.
 * hot path  None. Static and small: the kernel counts pages held at exec into the program's peak, and LD_PRELOAD in
 *           the environment is meant for the program.
 * failure   Ends as the program ended, by exit status or signal. 126, 127: the program could not be executed; 125: a
 *           line names another failure. Without a folder, a line says so.
 * not here  Reading the files: account.c, and exec_profile.py of the Python package, which also tells beforehand why a
 *           program cannot be served.
 */
#define _GNU_SOURCE
#include "account.h"
#include "ending.h"
#include "resident.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct order {
  bool sums_up, children;
  char *profile, *interpreter, *package; /* profile NULL: no profile */
  const char *library, *program;
  char **argv;
};

/* Signals passed on to the program. The terminal sends the first two to the program itself. */
static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH};
enum { n_passed_on = sizeof passed_on / sizeof passed_on[0] };

static volatile sig_atomic_t program_pid;
static struct sigaction callers[n_passed_on], callers_of_children;

static int fail(const char *what)
{
  fprintf(stderr, "hakmem: %s: %s\n", what, strerror(errno));
  return own_failure;
}

/* A signal from the terminal or the kernel reaches all processes anyway. */
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

/* With SIGCHLD ignored by the caller, the kernel would drop the children's exit statuses. */
static void hear_of_children(void)
{
  sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, &callers_of_children);
}

/* Blocks signals until the program's pid is known. */
static void hold_signals(sigset_t *before)
{
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, before);
}

static void let_signals_in(const sigset_t *before)
{
  sigprocmask(SIG_SETMASK, before, NULL);
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

/* A table of samples is written all the time: a folder in memory causes no disk writes. */
static const char *parent_folder(const struct order *order)
{
  const char *named = getenv("TMPDIR"), *memory = "/dev/shm";
  if (named != NULL && named[0] == '/')
    return named;
  return order->profile != NULL && access(memory, W_OK | X_OK) == 0 ? memory : "/tmp";
}

/* A counters file requested by the caller keeps its place. */
static bool set_files(const struct order *order, const char *folder)
{
  if (order->profile != NULL && !set_file("HAKMEM_PROFILE_TABLE", folder, "table", 1))
    return false;
  return !order->sums_up ||
         (set_file("HAKPROBE_FILE", folder, "proof", 1) && setenv("HAKPROBE_END", "1", 1) == 0 &&
          set_file("HAKMEM_COUNTERS_FILE", folder, "counts", 0));
}

/* folder: "" on failure. */
static void make_folder(const struct order *order, char folder[PATH_MAX])
{
  int length = snprintf(folder, PATH_MAX, "%s/hakmem-exec-XXXXXX", parent_folder(order));
  bool made = length < PATH_MAX - 16 && mkdtemp(folder) != NULL;
  if (made && set_files(order, folder))
    return;
  if (order->profile != NULL)
    fprintf(stderr, "hakmem: no heap profile: %s: %s\n", folder, strerror(errno));
  folder[0] = '\0';
}

static bool remove_files(const char *folder)
{
  DIR *open = opendir(folder);
  if (open == NULL)
    return false;
  for (struct dirent *entry; (entry = readdir(open)) != NULL;)
    unlinkat(dirfd(open), entry->d_name, 0);
  closedir(open);
  return true;
}

/* A program that starts or dies may still make its file between the last unlink and rmdir: then once more. */
static void remove_folder(const char *folder)
{
  enum { tries = 1000 };
  for (int i = 0; i < tries && remove_files(folder) && rmdir(folder) != 0 && errno == ENOTEMPTY; i++)
    ;
}

/* Without close_range (before Linux 5.9, or refused by a sandbox) the files are closed one by one. */
static void close_from(int first)
{
  enum { most = 1 << 16 };
  if (syscall(SYS_close_range, (unsigned)first, ~0u, 0u) == 0)
    return;
  long limit = sysconf(_SC_OPEN_MAX);
  for (int number = first; number < most && (limit < 0 || number < limit); number++)
    close(number);
}

/* Leaves the terminal's session and closes all files, so that no caller waits for the cleaner's end. */
static _Noreturn void clean_up_after(int attendant, const char *folder)
{
  char nothing;
  setsid();
  for (int i = 0; i < n_passed_on; i++)
    signal(passed_on[i], SIG_IGN);
  dup2(attendant, 0);
  close_from(1);
  while (read(0, &nothing, 1) < 0 && errno == EINTR)
    ;
  remove_folder(folder);
  _exit(0);
}

/* The cleaner also serves if this process is killed: this process holds the pipe's other end for life. */
static void leave_cleaner(const char *folder)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return;
  if (fork() == 0)
    clean_up_after(ends[0], folder);
  close(ends[0]);
}

/* ---- the program ---- */

/* As a shell does: a text without #! is run by /bin/sh. */
static void execute_text(const struct order *order)
{
  char *shell = "/bin/sh";
  size_t count = 0;
  while (order->argv[count] != NULL)
    count++;
  char **argv = calloc(count + 2, sizeof *argv);
  if (argv == NULL)
    return;
  memcpy(argv + 1, order->argv, count * sizeof *argv);
  argv[0] = shell;
  argv[1] = (char *)order->program;
  execv(shell, argv);
}

static _Noreturn void become(const struct order *order, pid_t parent, int says_why, const sigset_t *mask)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(own_failure);
  give_signals_back();
  sigaction(SIGCHLD, &callers_of_children, NULL);
  let_signals_in(mask);
  execv(order->program, order->argv);
  if (errno == ENOEXEC)
    execute_text(order);
  int why = errno;
  ssize_t written = write(says_why, &why, sizeof why);
  _exit(written == (ssize_t)sizeof why ? no_such_command : own_failure);
}

/* Waits until the child is the program, when the kernel closes the pipe's other end; false: it could not be executed. */
static bool becomes_the_program(int says_why)
{
  struct pollfd pipe = {.fd = says_why, .events = POLLIN};
  while (poll(&pipe, 1, -1) < 0 && errno == EINTR)
    ;
  return (pipe.revents & POLLIN) == 0;
}

static int run(const struct order *order, struct command_end *end, struct account_of *of)
{
  int says_why[2];
  pid_t parent = getpid();
  sigset_t before;
  if (pipe2(says_why, O_CLOEXEC) != 0)
    return fail("pipe");
  uint64_t start = now_ns();
  hold_signals(&before);
  pid_t pid = fork();
  if (pid == 0)
    become(order, parent, says_why[1], &before);
  program_pid = of->first = pid;
  let_signals_in(&before);
  if (pid < 0)
    return fail("fork");
  close(says_why[1]);
  if (order->sums_up && becomes_the_program(says_why[0]))
    resident_until_end(pid, &of->last);
  while (wait4(pid, &end->status, 0, &end->used) < 0 && errno == EINTR)
    ;
  program_pid = 0;
  uint64_t now = now_ns();
  end->wall_ns = now - start;
  of->before_end_ns = now - of->last.at_ns;
  end->exec_errno = read_exec_errno(says_why[0]);
  return 0;
}

/* ---- the lines ---- */

static double seconds(struct timeval t)
{
  return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* [bytes] Of the letter at s, in UTF-8; 0: a control character, or no letter. */
static size_t letter_bytes(const unsigned char *s)
{
  size_t more = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 1 : s[0] < 0xf0 ? 2 : 3;
  bool control = s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0);
  if (control || (s[0] >= 0x80 && more == 0) || s[0] > 0xf4)
    return 0;
  for (size_t i = 1; i <= more; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0;
  }
  return 1 + more;
}

/* A name for a terminal: what is no letter as \x and two digits, a long name cut short. Valid until the next call. */
static const char *shown(const char *name)
{
  static char text[4096];
  const unsigned char *s = (const unsigned char *)name;
  size_t at = 0;
  while (*s != 0 && at < sizeof text - 8) {
    size_t n = letter_bytes(s);
    if (n != 0)
      memcpy(text + at, s, n);
    else
      snprintf(text + at, 5, "\\x%02x", *s);
    at += n != 0 ? n : 4;
    s += n != 0 ? n : 1;
  }
  strcpy(text + at, *s != 0 ? "..." : "");
  return text;
}

static void print_end(const char *name, int status)
{
  const char *known = WIFSIGNALED(status) ? name_of_signal(WTERMSIG(status)) : NULL;
  if (known != NULL)
    fprintf(stderr, "hakmem exec: %s was killed by SIG%s\n", name, known);
  else if (WIFSIGNALED(status))
    fprintf(stderr, "hakmem exec: %s was killed by signal %d\n", name, WTERMSIG(status));
  else
    fprintf(stderr, "hakmem exec: %s exited with %d\n", name, WEXITSTATUS(status));
}

static void print_summary(const struct command_end *end, const char *folder, const struct account_of *of)
{
  const struct rusage *used = &end->used;
  fprintf(stderr, "  time         %.3f s; of CPU %.3f s\n", (double)end->wall_ns / 1e9,
          seconds(used->ru_utime) + seconds(used->ru_stime));
  fprintf(stderr, "  peak memory  %s, the largest process as the kernel has it; %s page faults\n",
          as_bytes((double)used->ru_maxrss * 1024),
          grouped((unsigned long long)used->ru_minflt + (unsigned long long)used->ru_majflt));
  if (folder[0] != '\0')
    account_print(stderr, folder, of);
  else
    fputs("  served       not known: there is no folder for the program's records\n", stderr);
}

/* ---- the profile ---- */

/* The interpreter gets stderr as its stdout, and no LD_PRELOAD. Ctrl-C waits until the interpreter has started, as for
 * the command itself. */
static _Noreturn void become_writer(char **argv, sigset_t *mask)
{
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  unsetenv("LD_PRELOAD");
  give_signals_back();
  sigaddset(mask, SIGINT);
  let_signals_in(mask);
  if (nothing >= 0)
    dup2(nothing, 0);
  dup2(2, 1);
  execv(argv[0], argv);
  fail(argv[0]);
  _exit(own_failure);
}

static void write_profile(const struct order *order, char *folder, pid_t first)
{
  char number[16];
  snprintf(number, sizeof number, "%d", (int)first);
  char *argv[] = {order->interpreter, "-I",   "-B",           order->package, "exec-profile",
                  folder,             number, order->profile, order->argv[0], order->children ? "children" : NULL,
                  NULL};
  int status = 0;
  sigset_t before;
  hold_signals(&before);
  pid_t pid = fork();
  if (pid == 0)
    become_writer(argv, &before);
  program_pid = pid;
  let_signals_in(&before);
  if (pid < 0)
    fail("no heap profile: fork");
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  program_pid = 0;
  if (WIFSIGNALED(status))
    fprintf(stderr, "hakmem: the writer of the heap profile was stopped by signal %d\n", WTERMSIG(status));
}

/* ---- the order ---- */

static bool take_order(int argc, char **argv, struct order *order)
{
  for (int option; (option = getopt(argc, argv, "+scp:i:m:")) != -1;) {
    if (option == 's') order->sums_up = true;
    else if (option == 'c') order->children = true;
    else if (option == 'p') order->profile = optarg;
    else if (option == 'i') order->interpreter = optarg;
    else if (option == 'm') order->package = optarg;
    else return false;
  }
  if (argc - optind < 3 || (order->profile != NULL && (order->interpreter == NULL || order->package == NULL)))
    return false;
  order->library = argv[optind];
  order->program = argv[optind + 1];
  order->argv = argv + optind + 2;
  return true;
}

static void tell(const struct order *order, const struct command_end *end, char *folder, const struct account_of *of)
{
  if (end->exec_errno != 0) {
    fprintf(stderr, "hakmem: %s: %s\n", shown(order->argv[0]), strerror(end->exec_errno));
    return;
  }
  print_end(shown(order->argv[0]), end->status);
  if (order->sums_up)
    print_summary(end, folder, of);
  if (order->profile != NULL && folder[0] != '\0')
    write_profile(order, folder, of->first);
}

int main(int argc, char **argv)
{
  struct order order = {0};
  if (!take_order(argc, argv, &order)) {
    fprintf(stderr, "usage: hak_attend [-s] [-p FILE -i INTERPRETER -m PACKAGE] LIBRARY PROGRAM NAME [ARGUMENT...]\n");
    return own_failure;
  }
  char folder[PATH_MAX];
  struct command_end end = {0};
  struct account_of of = {.library = order.library};
  sigset_t before;
  hear_of_children();
  hold_signals(&before); /* a signal that ends this process must not leave a folder without a cleaner */
  make_folder(&order, folder);
  if (folder[0] != '\0')
    leave_cleaner(folder);
  let_signals_in(&before);
  take_signals();
  int failed = run(&order, &end, &of);
  if (failed == 0)
    tell(&order, &end, folder, &of);
  if (folder[0] != '\0')
    remove_folder(folder);
  return failed != 0 ? failed : end_alike(&end);
}
