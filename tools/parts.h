/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* parts.h: a trace while being read; shared by events.c, cursor.c and merge.c.
 *
 * what      Payloads stay packed until merged, so a trace needs its own bytes and those of its events.
 * owner     struct reader, from the first record until the events are made.
 * failure   Each function that can fail returns false after refuse().
 */
#ifndef HAK_TOOLS_PARTS_H
#define HAK_TOOLS_PARTS_H

#include "events.h"
#include "pairs.h"

enum { site_slots = 31, chunk_pad = 16 };

/* The payload of a record. The zeros behind end any varint that overruns the payload. */
struct chunk {
  struct chunk *next;
  uint64_t ns;
  uint32_t used, events;
  uint8_t payload[];
};

/* The next step of a thread. A resize is two steps: the old block's free, later the new block. */
struct step {
  uint64_t ns;
  uint64_t came, went, size, took; /* addresses in [16 B] */
  uint32_t site, old;
  uint8_t operation, align_log;
  bool comes;
};

struct thread {
  uint32_t number, index; /* number in the trace; index in hak_process */
  uint64_t records;
  struct chunk *first, *last;
  const uint8_t *at, *end;
  uint32_t left; /* events left in the chunk */
  uint32_t slots_used;
  uint64_t clock, latest; /* clock: as recorded; latest: never goes back */
  uint64_t last_came, last_went, last_site;
  uint32_t slot[site_slots];
  struct step step;
};

/* State of a process beside struct hak_process. */
struct parts {
  struct thread **thread;
  size_t threads, thread_room;
  struct hak_pairs sites;
  size_t site_room, module_bytes, module_room;
  uint64_t announced; /* events */
};

struct reader {
  FILE *in;
  struct hak_trace *out;
  struct parts *parts; /* one per process of `out` */
  size_t process_room, parts_room;
  struct hak_pairs processes, threads;
  uint64_t offset;
  char *why;
  size_t why_size;
};

/* Keeps the first reason, and returns false. */
__attribute__((format(printf, 2, 3))) bool refuse(struct reader *reader, const char *format, ...);
bool no_memory(struct reader *reader);

/* Grows *array from *room to at least `wanted` elements. */
bool make_room(struct reader *reader, void **array, size_t *room, size_t wanted, size_t element);

void drop_first_chunk(struct thread *thread);

/* Decodes the thread's next step; *more is false after the last step. */
bool cursor_next(struct reader *reader, size_t process, struct thread *thread, bool *more);

/* Makes the events of all processes. */
bool merge_all(struct reader *reader);

#endif
