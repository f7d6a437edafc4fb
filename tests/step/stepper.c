/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stepper.c: steps a program through an operation of the allocator, and interrupts it between two instructions.
 *
 * what      stepper HOW EVERY FIRST FOLDER LIBRARY PROGRAM [WORDS...]
 *           LIBRARY is preloaded into the program, none if it is "-". A boundary is the place before an instruction
 *           outside of the program's own code, in the thread, of the program or of its child, that raised the marker of
 *           the operation's begin, up to that of its end. For `copied` and `itself` none where SIGUSR1 is blocked: no
 *           handler runs there. Boundaries FIRST, FIRST + EVERY, FIRST + 2 EVERY ... are chosen; of those in the vdso the
 *           first CLOCK_MOST, as its clock begins again after each tick that an interruption lasts.
 *
 *               copied   one run. At each chosen boundary SIGUSR1 is delivered; the program answers with a marker, and
 *                        is at the same boundary again:   step, step, SIGUSR1: copy, check, marker; step, step ...
 *               itself   a run for each chosen boundary: the signal is delivered there, and the program runs to its end
 *               killed   one run for each chosen boundary: SIGKILL there
 *               files    one run, no interruption: at each chosen boundary the files in FOLDER are what a SIGKILL would
 *                        leave. Each new state is kept as FOLDER/states/N.NAME.
 *
 *           Prints "at OFFSET boundary N: FAILED" for each failure, "met OFFSET N" for each address of libhakmem.so
 *           with N boundaries, "M blocked" if M places were none, and last "B boundaries, C chosen, W went on, R
 *           refused, F failed".
 * owner     The program is the stepper's child, and ends with it.
 * failure   Exit status 1 if an interruption failed or none was made; 2, with one line, if the program cannot be
 *           stepped.
 * not here  The operations and the check: subject.c. x86-64 only.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "marker.h"

enum { CLOCK_MOST = 256, MOST_CODE = 1 << 20, MOST_FILES = 8, MOST_FILE = 16 << 20, NAME = 512 };

enum how { COPIED, ITSELF, KILLED, FILES, HOWS };
static const char *const g_how_names[HOWS] = {"copied", "itself", "killed", "files"};

struct range {
  uintptr_t from, to;
};

static struct {
  enum how how;
  unsigned long every, first;
  const char *folder, *library;
  char **command;
} g_order;

static struct {
  pid_t pid, thread; /* the process; its thread that is stepped */
  struct range program, library, vdso;
  struct user_regs_struct at;
} g_run;

static struct {
  unsigned long boundaries, blocked, clock, chosen, went_on, refused, failed;
  uint32_t met[MOST_CODE]; /* boundaries at each address */
} g_sum;

static void fail(const char *what) {
  fprintf(stderr, "stepper: %s\n", what);
  if (g_run.pid > 0) kill(g_run.pid, SIGKILL);
  exit(2);
}

/* ---- the program's process ---- */

static void start(void) {
  g_run.pid = fork();
  if (g_run.pid < 0) fail("no process");
  g_run.thread = g_run.pid;
  if (g_run.pid != 0) return;
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(126);
  if (strcmp(g_order.library, "-") != 0) setenv("LD_PRELOAD", g_order.library, 1);
  execv(g_order.command[0], g_order.command);
  _exit(127);
}

static void resume_thread(pid_t thread, int request, int signal) {
  const long done = ptrace((enum __ptrace_request)request, thread, NULL, (void *)(intptr_t)signal);
  if (done != 0 && errno != ESRCH) fail("no step");
}

static void resume(int request, int signal) { resume_thread(g_run.thread, request, signal); }

/* The next stop of the stepped thread, or the end of the process. A thread that traps is the stepped one; others run
 * on. */
static int await(void) {
  for (;;) {
    int status = 0;
    const pid_t thread = waitpid(-1, &status, __WALL);
    if (thread < 0 && errno != EINTR) fail("the program is gone");
    if (thread == g_run.pid && !WIFSTOPPED(status)) return status;
    if (thread < 0 || !WIFSTOPPED(status)) continue;
    if (WSTOPSIG(status) == SIGTRAP) g_run.thread = thread;
    if (thread == g_run.thread) return status;
    resume_thread(thread, PTRACE_CONT, WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status)); /* SIGSTOP: a new one */
  }
}

static void read_registers(void) {
  if (ptrace(PTRACE_GETREGS, g_run.thread, NULL, &g_run.at) != 0) fail("no registers");
}

/* Resumes until the program stops by a trap, or ends. Other signals are passed on. */
static int resume_to_trap(int request, int signal) {
  for (;;) {
    resume(request, signal);
    const int status = await();
    if (!WIFSTOPPED(status) || WSTOPSIG(status) == SIGTRAP) return status;
    signal = WSTOPSIG(status);
  }
}

/* The code of a marker at this stop; 0: a step, or the program's exec. */
static long marker_here(void) {
  siginfo_t info;
  if (ptrace(PTRACE_GETSIGINFO, g_run.thread, NULL, &info) != 0) fail("no signal's facts");
  read_registers();
  return info.si_code == SI_KERNEL ? (long)g_run.at.rax : 0;
}

static void expect_stopped(int status) {
  char text[64];
  if (WIFSTOPPED(status)) return;
  snprintf(text, sizeof text, "the program ended before its marker, with status %#x", (unsigned)status);
  fail(text);
}

/* A process that the program forks is followed up to the begin, not the copies made later. */
static void follow(int what) {
  if (ptrace(PTRACE_SETOPTIONS, g_run.thread, NULL, (void *)(intptr_t)(PTRACE_O_EXITKILL | what)) != 0) fail("no options");
}

static pid_t process_of(pid_t thread) {
  char path[NAME], line[NAME];
  int process = 0;
  snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
  FILE *file = fopen(path, "re");
  while (file != NULL && process == 0 && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "Tgid: %d", &process) != 1) process = 0;
  if (file == NULL || process == 0) fail("a thread without a process");
  fclose(file);
  return process;
}

static void run_to_begin(void) {
  start();
  expect_stopped(await()); /* at exec */
  follow(PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK);
  do expect_stopped(resume_to_trap(PTRACE_CONT, 0));
  while (marker_here() != MARKER_BEGIN);
  follow(PTRACE_O_TRACECLONE);
  g_run.pid = process_of(g_run.thread);
}

/* Addresses of code of the program, of libhakmem.so and of the vdso. */
static void read_map(void) {
  char path[NAME], line[NAME], program[NAME];
  snprintf(path, sizeof path, "/proc/%d/maps", (int)g_run.pid);
  FILE *file = fopen(path, "re");
  if (file == NULL || realpath(g_order.command[0], program) == NULL) fail("no map of the program");
  while (fgets(line, sizeof line, file) != NULL) {
    struct range range;
    if (sscanf(line, "%lx-%lx", &range.from, &range.to) != 2) continue;
    const int own = strstr(line, program) != NULL;
    if (strstr(line, "[vdso]") != NULL) g_run.vdso = range;
    if (!own && strstr(line, "libhakmem") == NULL) continue;
    struct range *of = own ? &g_run.program : &g_run.library;
    if (of->from == 0 || range.from < of->from) of->from = range.from;
    if (range.to > of->to) of->to = range.to;
  }
  fclose(file);
}

static int is_inside(struct range range, uintptr_t p) { return p >= range.from && p < range.to; }

/* ---- what a kill would leave ---- */

static struct file {
  char name[NAME];
  char *state;
  size_t bytes;
} g_files[MOST_FILES];
static unsigned long g_states;

static struct file *file_named(const char *name) {
  for (int i = 0; i < MOST_FILES; i++) {
    struct file *file = &g_files[i];
    if (file->name[0] == 0) snprintf(file->name, sizeof file->name, "%s", name), file->state = malloc(MOST_FILE);
    if (strcmp(file->name, name) == 0) return file;
  }
  fail("too many files");
  return NULL;
}

static void keep_state(const struct file *file, const char *state, size_t bytes) {
  char path[8 * NAME];
  const int fits = snprintf(path, sizeof path, "%s/states/%06lu.%s", g_order.folder, g_states++, file->name);
  FILE *out = fits < (int)sizeof path ? fopen(path, "we") : NULL;
  if (out == NULL || fwrite(state, 1, bytes, out) != bytes || fclose(out) != 0) fail("a state cannot be kept");
}

static void look_at(const char *name) {
  static char state[MOST_FILE];
  char path[4 * NAME];
  struct file *file = file_named(name);
  snprintf(path, sizeof path, "%s/%s", g_order.folder, name);
  const int from = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = from < 0 ? -1 : read(from, state, sizeof state);
  if (from >= 0) close(from);
  if (bytes < 0 || ((size_t)bytes == file->bytes && memcmp(state, file->state, file->bytes) == 0)) return;
  memcpy(file->state, state, (size_t)bytes);
  file->bytes = (size_t)bytes;
  keep_state(file, state, (size_t)bytes);
}

static void look_at_files(void) {
  DIR *folder = opendir(g_order.folder);
  if (folder == NULL) fail("no folder of files");
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
    if (entry->d_type == DT_REG) look_at(entry->d_name);
  closedir(folder);
}

/* ---- interruptions ---- */

static void note_failure(const struct user_regs_struct *at) {
  g_sum.failed++;
  printf("at %lx boundary %lu: FAILED\n", (unsigned long)at->rip - g_run.library.from, g_sum.boundaries);
}

/* The program is at the same boundary again afterwards. */
static void interrupt_copy(void) {
  const struct user_regs_struct at = g_run.at;
  expect_stopped(resume_to_trap(PTRACE_CONT, SIGUSR1));
  const long code = marker_here();
  if (code == MARKER_WENT_ON) g_sum.went_on++;
  else if (code == MARKER_REFUSED) g_sum.refused++;
  else note_failure(&at);
  do {
    expect_stopped(resume_to_trap(PTRACE_SINGLESTEP, 0));
    read_registers();
  } while (g_run.at.rip != at.rip || g_run.at.rsp != at.rsp);
}

static void interrupt_itself(void) {
  const struct user_regs_struct at = g_run.at;
  const int status = resume_to_trap(PTRACE_CONT, SIGUSR1);
  g_run.pid = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) g_sum.went_on++;
  else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) g_sum.refused++;
  else note_failure(&at);
}

static void kill_it(void) {
  kill(g_run.pid, SIGKILL);
  const int status = await();
  g_run.pid = 0;
  g_sum.went_on += WIFSIGNALED(status);
}

static void interrupt_here(void) {
  g_sum.chosen++;
  if (g_order.how == COPIED) interrupt_copy();
  else if (g_order.how == ITSELF) interrupt_itself();
  else if (g_order.how == KILLED) kill_it();
  else look_at_files();
}

/* ---- the steps ---- */

static int is_blocked(void) {
  uint64_t mask = 0;
  if (ptrace(PTRACE_GETSIGMASK, g_run.thread, sizeof mask, &mask) != 0) fail("no mask of signals");
  return (mask >> (SIGUSR1 - 1)) & 1;
}

static int is_boundary(void) {
  if (is_inside(g_run.program, g_run.at.rip)) return 0;
  const int blocked = (g_order.how == COPIED || g_order.how == ITSELF) && is_blocked();
  g_sum.blocked += blocked;
  return !blocked;
}

static void note_boundary(void) {
  g_sum.boundaries++;
  const uintptr_t offset = g_run.at.rip - g_run.library.from;
  if (is_inside(g_run.library, g_run.at.rip) && offset < MOST_CODE) g_sum.met[offset]++;
}

/* True if the present boundary is chosen: `only`, or if that is 0, by the order. */
static int is_chosen(unsigned long only) {
  const unsigned long n = g_sum.boundaries;
  if (only != 0) return n == only;
  if (n < g_order.first || (n - g_order.first) % g_order.every != 0) return 0;
  return !is_inside(g_run.vdso, g_run.at.rip) || g_sum.clock++ < CLOCK_MOST;
}

/* Steps from the begin to the end, or to the boundary `only`, and interrupts. False: the operation ended. */
static int step_through(unsigned long only) {
  for (g_sum.boundaries = g_sum.blocked = 0;;) {
    expect_stopped(resume_to_trap(PTRACE_SINGLESTEP, 0));
    read_registers();
    if (!is_boundary()) {
      if (marker_here() == MARKER_END) return 0;
      continue;
    }
    note_boundary();
    if (!is_chosen(only)) continue;
    interrupt_here();
    if (only != 0) return 1;
  }
}

static void end_program(void) {
  const int status = resume_to_trap(PTRACE_CONT, 0);
  g_run.pid = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  printf("the program itself ended with status %#x\n", (unsigned)status);
  g_sum.failed++;
}

static void step_once(void) {
  run_to_begin();
  read_map();
  step_through(0);
  end_program();
}

static void step_anew(void) {
  for (unsigned long only = g_order.first;; only += g_order.every) {
    run_to_begin();
    read_map();
    if (!step_through(only)) break;
    g_run.program = g_run.library = (struct range){0, 0};
  }
  end_program();
}

/* ---- the command line ---- */

static unsigned long number(const char *text) {
  char *end;
  const unsigned long n = strtoul(text, &end, 10);
  if (*text == 0 || *end != 0 || n == 0) fail("EVERY and FIRST are whole numbers from 1 on");
  return n;
}

static void read_order(int count, char **words) {
  if (count < 7) fail("expected HOW EVERY FIRST FOLDER LIBRARY PROGRAM [WORDS...]");
  while (g_order.how < HOWS && strcmp(words[1], g_how_names[g_order.how]) != 0) g_order.how++;
  if (g_order.how == HOWS) fail("HOW is copied, itself, killed or files");
  g_order.every = number(words[2]);
  g_order.first = number(words[3]);
  g_order.folder = words[4];
  g_order.library = words[5];
  g_order.command = words + 6;
}

int main(int count, char **words) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  read_order(count, words);
  if (g_order.how == COPIED || g_order.how == FILES) step_once();
  else step_anew();
  for (unsigned long i = 0; i < MOST_CODE; i++)
    if (g_sum.met[i]) printf("met %lx %u\n", i, (unsigned)g_sum.met[i]);
  if (g_sum.blocked != 0) printf("%lu blocked\n", g_sum.blocked);
  printf("%lu boundaries, %lu chosen, %lu went on, %lu refused, %lu failed\n", g_sum.boundaries, g_sum.chosen,
         g_sum.went_on, g_sum.refused, g_sum.failed);
  return g_sum.failed == 0 && g_sum.chosen != 0 ? 0 : 1;
}
