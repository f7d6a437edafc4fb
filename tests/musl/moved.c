/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* moved.c LIBRARY heap|stack: the program's environment lies elsewhere before the library comes, so what the kernel gave
 * the process is not found by it. Prints the setting profile_table as the library has it, in brackets. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static int open_and_say(const char *path) {
  char value[300] = "";
  void *library = dlopen(path, RTLD_NOW);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  void *(*take)(size_t) = (void *(*)(size_t))dlsym(library, "hak_malloc");
  void (*give)(void *) = (void (*)(void *))dlsym(library, "hak_free");
  int (*get)(const char *, char *, size_t) = (int (*)(const char *, char *, size_t))dlsym(library, "hak_get");
  if (take == NULL || give == NULL || get == NULL) return 1;
  give(memset(take(100), 1, 100));
  if (get("profile_table", value, sizeof value) != 0) return 1;
  printf("[%s]\n", value);
  return 0;
}

int main(int count, char **words) {
  char *own[64] = {"A=1", NULL}; /* no end of arguments before it */
  if (count != 3) return 2;
  if (strcmp(words[2], "stack") == 0) environ = own;
  else setenv("MOVED", "1", 1);
  return open_and_say(words[1]);
}
