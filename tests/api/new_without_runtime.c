/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* new_without_runtime.c: operator new in a C program, before and after a C++ runtime is loaded.
 *
 *     LD_PRELOAD=libhakmem.so new_without_runtime plugin.so
 *
 * what      Preloading loads no libstdc++; without libstdc++ a failing operator new ends in a line and SIGABRT; after a
 *           plugin loaded libstdc++, operator new behaves as in a C++ program.
 * failure   A line per failed check, and exit status 1.
 * not here  C++ programs: new_test.cpp.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

static void check(bool ok, const char *what) {
  if (ok) return;
  printf("failed: %s\n", what);
  failures++;
}

static bool is_mapped(const char *name) {
  char line[1024];
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) found = found || strstr(line, name) != NULL;
  if (maps != NULL) fclose(maps);
  return found;
}

typedef void *operator_new(size_t n);

static void fail_in_child(int err) {
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(err, STDERR_FILENO);
  operator_new *make = (operator_new *)dlsym(RTLD_DEFAULT, "_Znwm");
  if (make != NULL) make(SIZE_MAX);
  _exit(0);
}

/* Runs an impossible request in a child; returns the child's status, and its stderr in `said`. */
static int ask_in_child(char *said, size_t size) {
  int pipe_ends[2], status = 0;
  if (pipe(pipe_ends) != 0) return 0;
  pid_t pid = fork();
  if (pid == 0) fail_in_child(pipe_ends[1]);
  close(pipe_ends[1]);
  ssize_t n = read(pipe_ends[0], said, size - 1);
  said[n > 0 ? n : 0] = '\0';
  close(pipe_ends[0]);
  waitpid(pid, &status, 0);
  return status;
}

static void check_without_runtime(void) {
  char said[256];
  check(is_mapped("libhakmem"), "libhakmem.so is preloaded");
  check(!is_mapped("libstdc++"), "preloading brings no libstdc++");
  check(!is_mapped("libgcc_s"), "preloading brings no libgcc_s");
  int status = ask_in_child(said, sizeof said);
  check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "a failing new without a runtime aborts");
  check(strcmp(said, "hakmem: operator new: no memory for 18446744073709551615 bytes, and no C++ runtime to throw "
                     "std::bad_alloc\n") == 0, said);
}

static void check_plugin(void *plugin, const char *name) {
  bool (*ask)(void) = (bool (*)(void))dlsym(plugin, name);
  check(ask != NULL && ask(), name);
}

static void check_with_runtime(const char *path) {
  void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  check(plugin != NULL, "the plugin loads");
  check(is_mapped("libstdc++"), "the plugin brings libstdc++");
  if (plugin == NULL) return;
  check_plugin(plugin, "plugin_new_works");
  check_plugin(plugin, "plugin_new_throws");
  check_plugin(plugin, "plugin_nothrow_gives_null");
  check_plugin(plugin, "plugin_handler_may_throw");
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: new_without_runtime plugin.so\n");
    return 2;
  }
  check_without_runtime();
  check_with_runtime(argv[1]);
  return failures != 0;
}
