/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tiny.c: the least that a process can do. "nothing": ends. "once": one block. "child": one block, and a fork's child
 * that is about to enter a sandbox. "several": a hundred blocks of a hundred sizes, a third of them freed. */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 100, STEP = 37, SIZES = 1000 };

static void take(size_t n, int keep) {
  char *volatile p = malloc(n);
  memset(p, 1, n);
  if (!keep) free(p);
}

static int fork_into_sandbox(void) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) _exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0);
  return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

int main(int count, char **arguments) {
  const char *how = count > 1 ? arguments[1] : "nothing";
  if (strcmp(how, "once") == 0 || strcmp(how, "child") == 0) take(100, 1);
  for (size_t i = 0; i < BLOCKS && strcmp(how, "several") == 0; i++) take(16 + i * STEP % SIZES, i % 3 != 0);
  return strcmp(how, "child") == 0 ? fork_into_sandbox() : 0;
}
