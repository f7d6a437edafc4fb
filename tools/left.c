/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* left.c: see left.h.
 *
 * what      Looks every 5 ms: the end of a process is told to its parent alone.
 */
#define _GNU_SOURCE
#include "left.h"
#include "ending.h"
#include "follow.h"
#include "tree.h"
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

enum { grace_ms = 1000, kill_ms = 5000 };
static const struct timespec look = {0, 5000000};
static const uint64_t ms_ns = 1000000;

bool left_run(void)
{
  int status = 0;
  pid_t who;
  while ((who = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
    if (WIFSTOPPED(status))
      follow_stop(who, status);
  return who == 0;
}

bool left_outlast(unsigned patience_ms)
{
  uint64_t end = now_ns() + patience_ms * ms_ns;
  while (left_run()) {
    if (now_ns() >= end)
      return true;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &look, NULL);
  }
  return false;
}

static void signal_all(int signal_number)
{
  static struct tree tree;
  tree_find(&tree);
  for (int i = 0; i < tree.count; i++)
    kill(tree.pid[i], signal_number);
}

void left_end(void)
{
  if (!left_run())
    return;
  signal_all(SIGTERM);
  if (!left_outlast(grace_ms))
    return;
  for (uint64_t end = now_ns() + kill_ms * ms_ns; left_run() && now_ns() < end;) {
    signal_all(SIGKILL);
    left_outlast(1);
  }
}
