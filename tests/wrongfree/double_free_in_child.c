/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The parent frees a block, and the fork's child frees the block again. The parent ends with the child's status. */
#include <signal.h>
#include <sys/wait.h>

#include "wrong.h"

int main(void) {
  int status = 0;
  void *p = new_block(100);
  void *between = new_block(100);
  announce(p);
  free(p);
  free(between);
  pid_t child = fork();
  if (child == 0) {
    free(hidden(p));
    malloc_trim(0);
    _exit(0);
  }
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) raise(WTERMSIG(status));
  return 0;
}
