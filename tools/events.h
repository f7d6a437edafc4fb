/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* events.h: a trace as a row of events.
 *
 * what      Reads the records of docs/guide/trace-format.md, unpacked, merges the threads of each process by time, and gives
 *           every block a number of its own, so that addresses do not matter any more.
 * owner     The caller, until hak_trace_drop.
 * failure   false, and one line that says why; what was read until then is in `out`.
 * not here  Unpacking: gzip, by whoever writes to the file.
 */
#ifndef HAK_TOOLS_EVENTS_H
#define HAK_TOOLS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum hak_operation { HAK_OP_ALLOC = 1, HAK_OP_CALLOC, HAK_OP_ALIGNED, HAK_OP_FREE, HAK_OP_RESIZE };

/* One call. A resize is one event at the time its new block came; its old block was free from `took` before. */
struct hak_event {
  uint64_t ns;     /* since the first event of the whole trace; never less than that of the event before */
  uint64_t size;   /* bytes asked for; of a free: what the block had been asked for */
  uint32_t block;  /* that came, or, of a free, that went; 1, 2 ... in its process; 0: the call failed */
  uint32_t old;    /* of a resize: the block that went; 0: it failed, or the block was never seen; else 0 */
  uint32_t site;   /* index into hak_process.site */
  uint32_t took;   /* of a resize: nanoseconds, 4.3 seconds at most */
  uint32_t thread; /* 0, 1 ... in its process */
  uint8_t operation, align_log;
};

struct hak_site {
  uint64_t address, depth;
};

struct hak_process {
  uint32_t pid, image, parent, threads;
  char *command;  /* arguments, each closed by a zero byte */
  size_t command_bytes;
  char *modules;  /* lines of /proc/self/maps, closed by a zero byte */
  struct hak_event *event;
  size_t events;
  struct hak_site *site;  /* the first is the one not known: 0, 0 */
  uint32_t sites, blocks; /* blocks are numbered 1 .. blocks */
  uint64_t lost, implied, unknown; /* events lost; frees implied; frees of blocks never seen */
};

struct hak_trace {
  struct hak_process *process; /* in order of their records */
  size_t processes;
  bool torn;                   /* the file ended inside a record */
};

/* Reads all of `in`. why: room for `size` bytes. Not thread-safe for one trace. */
bool hak_trace_read(FILE *in, struct hak_trace *out, char *why, size_t size);
void hak_trace_drop(struct hak_trace *trace);

#endif
