/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* samples.c: see samples.h.
 *
 * what      A walk of the tree for each line; a file, written through stdio's buffer.
 * owner     The launcher.
 * failure   As in samples.h.
 * not here  The times of samples: the launcher's wait loop.
 */
#define _GNU_SOURCE
#include "samples.h"
#include "tree.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { period_ns = 10000000, second_ns = 1000000000 };

struct use {
  long resident; /* pages */
  long shared;
  long ticks;
  int processes;
  bool exits; /* the kernel takes back the memory of one: nothing tells how much it still has */
};

static FILE *lines;
static uint64_t due_ns;
static long page_kib;
static long tick_ms;

static uint64_t now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * second_ns + (uint64_t)t.tv_nsec;
}

/* Ticks of CPU time, including waited-for children. Also of a process that has ended and is not reaped yet. */
static long ticks_of(int pid, char *state)
{
  char path[32];
  char text[tree_text_bytes];
  long user;
  long kernel;
  long children_user;
  long children_kernel;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const char *after_name = tree_read(path, text) ? strrchr(text, ')') : NULL;
  if (after_name == NULL || sscanf(after_name, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %ld %ld", state,
                                   &user, &kernel, &children_user, &children_kernel) != 5)
    return 0;
  return user + kernel + children_user + children_kernel;
}

/* False if the process is gone, or has no memory any longer. */
static bool add_pages(struct use *use, int pid)
{
  char path[32];
  char text[tree_text_bytes];
  long size;
  long resident;
  long shared;
  snprintf(path, sizeof path, "/proc/%d/statm", pid);
  if (!tree_read(path, text) || sscanf(text, "%ld %ld %ld", &size, &resident, &shared) != 3 || size == 0)
    return false;
  use->resident += resident;
  use->shared += shared;
  return true;
}

/* A process without memory that is no zombie is on its way out. The state is read first: a zombie stays one. */
static void add_use(struct use *use, int pid)
{
  char state = 'X';
  use->ticks += ticks_of(pid, &state);
  if (add_pages(use, pid))
    use->processes++;
  else if (state != 'X' && state != 'Z')
    use->exits = true;
}

bool samples_start(const char *path)
{
  lines = fopen(path, "we");
  page_kib = sysconf(_SC_PAGESIZE) / 1024;
  tick_ms = 1000 / sysconf(_SC_CLK_TCK);
  due_ns = now_ns();
  return lines != NULL;
}

bool samples_asked(void)
{
  return lines != NULL;
}

void samples_take(void)
{
  static struct tree tree;
  struct use use = {0};
  tree_find(&tree);
  uint64_t now = now_ns();
  for (int i = 0; i < tree.count; i++)
    add_use(&use, tree.pid[i]);
  if (!use.exits)
    fprintf(lines, "%llu %ld %ld %ld %d\n", (unsigned long long)now, use.resident * page_kib, use.shared * page_kib,
            use.ticks * tick_ms, use.processes);
}

void samples_sleep(void)
{
  uint64_t now = now_ns();
  while (due_ns <= now)
    due_ns += period_ns;
  struct timespec until = {(time_t)(due_ns / second_ns), (long)(due_ns % second_ns)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

bool samples_end(void)
{
  bool good = ferror(lines) == 0;
  good = fclose(lines) == 0 && good;
  lines = NULL;
  return good;
}
