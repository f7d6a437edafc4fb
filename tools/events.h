/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* events.h: a trace as a sequence of events.
 *
 * what      Reads the unpacked records of docs/guide/trace-format.md, merges the threads of each process by time, and
 *           gives every block a number, so that addresses no longer matter.
 * owner     The caller, until hak_trace_drop.
 * failure   false, and one line with the reason; `out` has the part read before.
 * not here  Unpacking: gzip, by the writer of the file.
 */
#ifndef HAK_TOOLS_EVENTS_H
#define HAK_TOOLS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum hak_operation { HAK_OP_ALLOC = 1, HAK_OP_CALLOC, HAK_OP_ALIGNED, HAK_OP_FREE, HAK_OP_RESIZE };

/* One call. A resize is one event at the time when its new block came; its old block was free `took` ns before. */
struct hak_event {
  uint64_t ns;     /* since the first event of the whole trace; not less than the ns of the event before */
  uint64_t size;   /* [bytes] requested; of a free: requested for the freed block */
  uint32_t block;  /* number, from 1 in each process, of the new block, or of the freed block; 0: the call failed */
  uint32_t old;    /* of a resize: the old block; 0: none, the resize failed, or the block was never seen */
  uint32_t site;   /* index into hak_process.site */
  uint32_t took;   /* of a resize: [ns], at most 4.3 seconds */
  uint32_t thread; /* from 0 in each process */
  uint8_t operation, align_log;
};

struct hak_site {
  uint64_t address, depth;
};

struct hak_process {
  uint32_t pid, image, parent, threads;
  char *command;  /* arguments, each ended by a zero byte */
  size_t command_bytes;
  char *modules;  /* lines of /proc/self/maps, ended by a zero byte */
  struct hak_event *event;
  size_t events;
  struct hak_site *site;  /* site[0] is the unknown site: 0, 0 */
  uint32_t sites, blocks; /* block numbers are 1 .. blocks */
  uint64_t lost, implied, unknown; /* events lost; frees implied; frees of blocks never seen */
};

struct hak_trace {
  struct hak_process *process; /* in the order of the records */
  size_t processes;
  bool torn;                   /* the file ended inside a record */
};

/* Reads all of `in`. why: buffer of `size` bytes. Not thread-safe for one trace. */
bool hak_trace_read(FILE *in, struct hak_trace *out, char *why, size_t size);
void hak_trace_drop(struct hak_trace *trace);

#endif
