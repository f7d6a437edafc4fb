/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* plan.h: what each thread of a replay does, made before anything is measured.
 *
 * what      The calls of each thread in order, cut into epochs: so many calls of the whole process, in order of time.
 *           A thread is at most one epoch ahead of the slowest, so that a block lives about as long as it did, and
 *           nobody's queue becomes longer than it was by more than that.
 * owner     The caller. It lies in mappings of its own, all of it touched.
 * failure   plan_make says why, in one line.
 */
#ifndef HAK_TOOLS_PLAN_H
#define HAK_TOOLS_PLAN_H

#include "events.h"

enum { epoch_calls = 4096 };

/* 16 bytes, as they are read while time is taken. */
struct call {
  uint64_t size : 48, operation : 3, align_log : 6;
  uint64_t handed : 1;  /* the block that comes goes in another thread */
  uint64_t foreign : 1; /* the block that goes came in another thread */
  uint32_t block, old;  /* that comes, that goes; or 0 */
};
_Static_assert(sizeof(struct call) == 16, "four in a cache line");

/* The calls of one thread in one epoch. */
struct stretch {
  uint32_t epoch, calls;
};

struct part {
  struct call *call;
  uint64_t *due; /* nanoseconds from the start; NULL: at once */
  struct hak_site *site; /* that each call comes from; NULL: not asked for */
  struct stretch *stretch;
  size_t calls, stretches;
};

struct plan {
  struct part *part; /* one for each thread */
  uint32_t *order;   /* the threads that have calls, by their first one */
  uint32_t *busy;    /* how many threads have calls in each epoch */
  uint32_t threads, starts, epochs, blocks;
  size_t calls, skipped; /* skipped: calls that failed when they were recorded */
  uint64_t most_live;    /* bytes asked for at one time */
};

/* Room that is zero and resident; ends the program when there is none. */
void *plan_pages(size_t bytes);

/* All calls of a process. With `due`, the time of each; with `sites`, where it comes from. */
void plan_make(const struct hak_process *process, bool due, bool sites, struct plan *out);

#endif
