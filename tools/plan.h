/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* plan.h: the calls of each thread of a replay, made before the measurement.
 *
 * what      The calls of each thread in order, cut into epochs: a fixed number of calls of the whole process, in order
 *           of time. A thread is at most one epoch ahead of the slowest thread, so a block lives about as long as in
 *           the recording, and a queue between threads is longer than recorded by at most one epoch.
 * owner     The caller. The plan lies in separate mappings, all resident.
 * failure   plan_make ends the program with a line.
 */
#ifndef HAK_TOOLS_PLAN_H
#define HAK_TOOLS_PLAN_H

#include "events.h"

enum { epoch_calls = 4096 };

/* 16 bytes, as calls are read while time is measured. */
struct call {
  uint64_t size : 48, operation : 3, align_log : 6;
  uint64_t handed : 1;  /* the new block is freed by a different thread */
  uint64_t foreign : 1; /* the freed block was allocated by a different thread */
  uint32_t block, old;  /* numbers of the new block and of the freed block; 0: none */
};
_Static_assert(sizeof(struct call) == 16, "four in a cache line");

/* The calls of one thread in one epoch. */
struct stretch {
  uint32_t epoch, calls;
};

struct part {
  struct call *call;
  uint64_t *due; /* [ns] from the start; NULL: at once */
  struct hak_site *site; /* of each call; NULL: not requested */
  struct stretch *stretch;
  size_t calls, stretches;
};

struct plan {
  struct part *part; /* one per thread */
  uint32_t *order;   /* threads with calls, ordered by first call */
  uint32_t *busy;    /* by epoch: number of threads with calls */
  uint32_t threads, starts, epochs, blocks;
  size_t calls, skipped; /* skipped: calls that failed in the recording */
  uint64_t most_live;    /* [bytes] peak of the live bytes */
};

/* Returns zeroed resident memory; ends the program when there is none. */
void *plan_pages(size_t bytes);

/* Makes the plan of a process. due: with the time of each call; sites: with the call site. */
void plan_make(const struct hak_process *process, bool due, bool sites, struct plan *out);

#endif
