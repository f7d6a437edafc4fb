/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* resident.c: see resident.h.
 *
 * owner     The single thread.
 * failure   A process whose files cannot be read was never seen.
 */
#define _GNU_SOURCE
#include "resident.h"
#include "ending.h"
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { shortest_ms = 1, longest_ms = 50, part_of_time = 8, times_a_look = 100 };

#define NS_PER_MS 1000000U
#define WALKED_BYTES (64U << 20) /* a walk of as many takes some 0.2 ms, in which the process maps nothing */

/* [bytes] As counted page by page; 0: not for this caller, or the process has ended. */
static uint64_t counted_exactly(FILE *file)
{
  char line[256];
  unsigned long long kib = 0;
  while (fgets(line, sizeof line, file) != NULL && sscanf(line, "Rss: %llu", &kib) != 1)
    ;
  return kib << 10;
}

/* [bytes] As the kernel's counters have it, which are behind by some pages a processor. */
static uint64_t counted_roughly(FILE *file)
{
  unsigned long long pages = 0;
  return fscanf(file, "%*u %llu", &pages) == 1 ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static uint64_t read_from(pid_t pid, const char *name, uint64_t (*reader)(FILE *))
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
  FILE *file = fopen(path, "re");
  uint64_t bytes = file != NULL ? reader(file) : 0;
  if (file != NULL)
    fclose(file);
  return bytes;
}

/* [bytes] Of a process, by one of its threads. */
static uint64_t bytes_by(pid_t thread)
{
  uint64_t roughly = read_from(thread, "statm", counted_roughly);
  uint64_t exactly = roughly != 0 && roughly < WALKED_BYTES ? read_from(thread, "smaps_rollup", counted_exactly) : 0;
  return exactly != 0 ? exactly : roughly;
}

/* [bytes] By the first thread that knows: one that has ended has no memory, and the first one may end before others. */
static uint64_t bytes_of(pid_t pid)
{
  char path[64];
  uint64_t bytes = bytes_by(pid);
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *threads = bytes == 0 ? opendir(path) : NULL;
  if (threads == NULL)
    return bytes;
  for (struct dirent *entry; bytes == 0 && (entry = readdir(threads)) != NULL;)
    if (entry->d_name[0] != '.')
      bytes = bytes_by((pid_t)atoi(entry->d_name));
  closedir(threads);
  return bytes;
}

static void look(pid_t pid, struct resident *last)
{
  uint64_t now = now_ns(), bytes = bytes_of(pid);
  if (bytes != 0)
    *last = (struct resident){bytes, now};
}

/* [ns] From the end of a look that began at `began` to the next one. */
static uint64_t pause_of(uint64_t start, uint64_t began, uint64_t now)
{
  uint64_t ns = (now - start) / part_of_time, least = (now - began) * times_a_look;
  if (ns > longest_ms * (uint64_t)NS_PER_MS)
    ns = longest_ms * (uint64_t)NS_PER_MS;
  return (ns > least ? ns : least) + shortest_ms * NS_PER_MS;
}

/* False when `next` has come. A signal that is passed on interrupts the wait, and brings no look. */
static bool ends_before(struct pollfd *process, uint64_t next)
{
  int found = 0;
  for (uint64_t now; found <= 0 && (now = now_ns()) < next;) {
    found = poll(process, 1, (int)((next - now) / NS_PER_MS) + 1);
    if (found < 0 && errno != EINTR)
      return true;
  }
  return found > 0;
}

void resident_until_end(pid_t pid, struct resident *last)
{
  uint64_t start = now_ns(), next = start;
  struct pollfd process = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
  if (process.fd < 0)
    return;
  while (!ends_before(&process, next)) {
    uint64_t began = now_ns();
    look(pid, last);
    uint64_t now = now_ns();
    next = now + pause_of(start, began, now);
  }
  close(process.fd);
}
