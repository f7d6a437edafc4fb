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
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { period_ns = 10000000, second_ns = 1000000000, most_processes = 1024, text_bytes = 16384 };

struct tree {
  int pid[most_processes];
  int count;
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

/* Reads a file of /proc and ends the text by a zero byte; false when the file is gone. */
static bool read_text(const char *path, char text[text_bytes])
{
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t length = read(file, text, text_bytes - 1);
  close(file);
  text[length < 0 ? 0 : length] = '\0';
  return length >= 0;
}

static void add_children(struct tree *tree, int pid, const char *thread)
{
  char path[64];
  char text[text_bytes];
  snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", pid, thread);
  if (!read_text(path, text))
    return;
  char *end;
  for (char *at = text; tree->count < most_processes; at = end) {
    int child = (int)strtol(at, &end, 10);
    if (end == at)
      return;
    tree->pid[tree->count++] = child;
  }
}

static void add_children_of_threads(struct tree *tree, int pid)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *threads = opendir(path);
  if (threads == NULL)
    return;
  for (const struct dirent *entry; (entry = readdir(threads)) != NULL;)
    if (entry->d_name[0] != '.')
      add_children(tree, pid, entry->d_name);
  closedir(threads);
}

/* Finds all descendants of this process, adopted orphans included; each has a single parent and so is added once. */
static void find_tree(struct tree *tree)
{
  tree->count = 0;
  add_children_of_threads(tree, (int)getpid());
  for (int i = 0; i < tree->count; i++)
    add_children_of_threads(tree, tree->pid[i]);
}

/* Ticks of CPU time, including waited-for children. Also of a process that has ended and is not reaped yet. */
static long ticks_of(int pid)
{
  char path[32];
  char text[text_bytes];
  long user;
  long kernel;
  long children_user;
  long children_kernel;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const char *after_name = read_text(path, text) ? strrchr(text, ')') : NULL;
  if (after_name == NULL || sscanf(after_name, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %ld %ld", &user,
                                   &kernel, &children_user, &children_kernel) != 4)
    return 0;
  return user + kernel + children_user + children_kernel;
}

/* False if the process is gone, or has ended and is not reaped yet. */
static bool add_pages(int pid, long *resident, long *shared)
{
  char path[32];
  char text[text_bytes];
  long size;
  long own_resident;
  long own_shared;
  snprintf(path, sizeof path, "/proc/%d/statm", pid);
  if (!read_text(path, text) || sscanf(text, "%ld %ld %ld", &size, &own_resident, &own_shared) != 3 || size == 0)
    return false;
  *resident += own_resident;
  *shared += own_shared;
  return true;
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
  long resident = 0;
  long shared = 0;
  long ticks = 0;
  int processes = 0;
  find_tree(&tree);
  uint64_t now = now_ns();
  for (int i = 0; i < tree.count; i++) {
    processes += add_pages(tree.pid[i], &resident, &shared);
    ticks += ticks_of(tree.pid[i]);
  }
  fprintf(lines, "%llu %ld %ld %ld %d\n", (unsigned long long)now, resident * page_kib, shared * page_kib,
          ticks * tick_ms, processes);
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
