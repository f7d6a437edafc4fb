/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* at_end.c: runs a command and prints the cost of its process at the end: "faults=57 peak_kib=1240".
 *
 *     process_at_end COMMAND [ARGUMENT...]
 *
 * The tracer stops the process after its exec and again in its exit, while the memory is still mapped. faults: page
 * faults between the two stops. peak_kib: the kernel's VmHWM, which /proc sums up exactly; the peak in rusage may lag
 * by 32 pages for each processor and kind of page. Exit status 77: the process may not be traced. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT_TRACE = 77, FAILED = 1 };

static long minor_faults(pid_t pid) {
  char path[64], text[1024];
  long faults = -1;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "r");
  const size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
  text[n] = '\0';
  const char *name_end = strrchr(text, ')'); /* the name may hold anything */
  if (name_end != NULL) sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %*u %ld", &faults);
  if (file != NULL) fclose(file);
  return faults;
}

static long peak_kib(pid_t pid) {
  char path[64], line[256];
  long kib = -1;
  snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
  FILE *file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) sscanf(line, "VmHWM: %ld kB", &kib);
  if (file != NULL) fclose(file);
  return kib;
}

static void become(char **command) {
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(CANNOT_TRACE);
  raise(SIGSTOP);
  execvp(command[0], command);
  _exit(FAILED);
}

/* Traces the child to its end; returns the exit status. */
static int follow(pid_t pid) {
  int status;
  long at_start = 0;
  while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
    const int event = status >> 16;
    const int passed_on = event != 0 || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    if (event == PTRACE_EVENT_EXEC) at_start = minor_faults(pid);
    if (event == PTRACE_EVENT_EXIT) {
      printf("faults=%ld peak_kib=%ld\n", minor_faults(pid) - at_start, peak_kib(pid));
    }
    ptrace(PTRACE_CONT, pid, NULL, (void *)(long)passed_on);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

int main(int count, char **arguments) {
  if (count < 2) return FAILED;
  const pid_t pid = fork();
  int status;
  if (pid == 0) become(arguments + 1);
  if (waitpid(pid, &status, 0) != pid) return FAILED;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const long events = PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)events) != 0) {
    kill(pid, SIGKILL);
    return CANNOT_TRACE;
  }
  ptrace(PTRACE_CONT, pid, NULL, NULL);
  return follow(pid);
}
