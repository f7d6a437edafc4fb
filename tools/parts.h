/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* parts.h: a trace while it is being read; inside of events.c, cursor.c and merge.c.
 *
 * what      Payloads stay packed until they are merged, so a trace takes its own bytes and the events made of it.
 * owner     struct reader, from the first record until the events are made.
 * failure   Each function that can fail returns false after refuse().
 */
#ifndef HAK_TOOLS_PARTS_H
#define HAK_TOOLS_PARTS_H

#include "events.h"
#include "pairs.h"

enum { site_slots = 31, chunk_pad = 16 };

/* The payload of a record. Zeros follow it, which end any varint that runs over. */
struct chunk {
  struct chunk *next;
  uint64_t ns;
  uint32_t used, events;
  uint8_t payload[];
};

/* What a thread does next. A resize is two steps: its block goes, later one comes. */
struct step {
  uint64_t ns;
  uint64_t came, went, size, took; /* addresses in units of 16 bytes */
  uint32_t site, old;
  uint8_t operation, align_log;
  bool comes;
};

struct thread {
  uint32_t number, index; /* in the trace; in hak_process */
  uint64_t records;
  struct chunk *first, *last;
  const uint8_t *at, *end;
  uint32_t left; /* events of the chunk */
  uint32_t slots_used;
  uint64_t clock, latest; /* as recorded; never back */
  uint64_t last_came, last_went, last_site;
  uint32_t slot[site_slots];
  struct step step;
};

/* What there is of a process beside its struct hak_process. */
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
  struct parts *parts; /* one for each process of `out` */
  size_t process_room, parts_room;
  struct hak_pairs processes, threads;
  uint64_t offset;
  char *why;
  size_t why_size;
};

/* Says why, once, and returns false. */
__attribute__((format(printf, 2, 3))) bool refuse(struct reader *reader, const char *format, ...);
bool no_memory(struct reader *reader);

/* Makes room for `wanted` elements at *array, of which there is room for *room. */
bool make_room(struct reader *reader, void **array, size_t *room, size_t wanted, size_t element);

void drop_first_chunk(struct thread *thread);

/* The thread's next step; *more is false when there is none. */
bool cursor_next(struct reader *reader, size_t process, struct thread *thread, bool *more);

/* The events of all processes. */
bool merge_all(struct reader *reader);

#endif
