/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* resident.c: see resident.h.
 *
 * owner     The single thread.
 * failure   A process whose files cannot be read was never seen.
 */
#define _GNU_SOURCE
#include "resident.h"
#include "ending.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { shortest_ms = 1, longest_ms = 50, part_of_time = 8, times_a_look = 100 };

#define NS_PER_MS 1000000U

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

static void look(pid_t pid, struct resident *last)
{
  uint64_t now = now_ns(), bytes = read_from(pid, "smaps_rollup", counted_exactly);
  if (bytes == 0)
    bytes = read_from(pid, "statm", counted_roughly);
  if (bytes != 0)
    *last = (struct resident){bytes, now};
}

/* [ms] Until the next look, after one that took from `began` to `now`. */
static int pause_of(uint64_t start, uint64_t began, uint64_t now)
{
  uint64_t ns = (now - start) / part_of_time, least = (now - began) * times_a_look;
  if (ns > longest_ms * NS_PER_MS)
    ns = longest_ms * NS_PER_MS;
  return (int)((ns > least ? ns : least) / NS_PER_MS) + shortest_ms;
}

void resident_until_end(pid_t pid, struct resident *last)
{
  uint64_t start = now_ns();
  int pause = shortest_ms, ended;
  struct pollfd process = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
  if (process.fd < 0)
    return;
  while ((ended = poll(&process, 1, pause)) <= 0) {
    if (ended < 0 && errno != EINTR)
      break;
    uint64_t began = now_ns();
    look(pid, last);
    pause = pause_of(start, began, now_ns());
  }
  close(process.fd);
}
