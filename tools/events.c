/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* events.c: see events.h; here the records and functions shared by the reader's sources.
 *
 * what      Takes the file apart into processes, threads and payloads. A pid that is used again begins a new process.
 *           cursor.c decodes the payloads, merge.c makes the events.
 * failure   refuse() keeps the first reason. A number of bytes read from the file is trusted only after that many
 *           bytes were read.
 * not here  Byte order: numbers are little-endian, as on x86-64.
 */
#include "parts.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { version = 1, most_used = 1 << 20, least_event_bytes = 3 };
enum kind { kind_process = 1, kind_modules, kind_events };

struct head {
  char magic[4];
  uint16_t version, kind;
  uint32_t used, events, pid, image, thread, parent;
  uint64_t ns, lost, serial, reserved;
};
_Static_assert(sizeof(struct head) == 64, "as docs/guide/trace-format.md has it");

bool refuse(struct reader *reader, const char *format, ...)
{
  if (reader->why[0] == '\0') {
    va_list values;
    va_start(values, format);
    vsnprintf(reader->why, reader->why_size, format, values);
    va_end(values);
  }
  return false;
}

bool no_memory(struct reader *reader)
{
  return refuse(reader, "out of memory");
}

bool make_room(struct reader *reader, void **array, size_t *room, size_t wanted, size_t element)
{
  if (wanted <= *room)
    return true;
  size_t wider = *room + *room / 2 < wanted ? wanted : *room + *room / 2;
  void *moved = wider > SIZE_MAX / element ? NULL : realloc(*array, wider * element);
  if (moved == NULL)
    return no_memory(reader);
  *array = moved;
  *room = wider;
  return true;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* ---- processes ---- */

static uint64_t process_key(const struct head *head)
{
  return (uint64_t)head->pid << 32 | head->image;
}

/* Finds the index of a record's process. */
static bool process_of(struct reader *reader, const struct head *head, size_t *index)
{
  uint32_t *known = hak_pairs_at(&reader->processes, process_key(head), 0);
  if (known == NULL)
    return no_memory(reader);
  if (*known == 0)
    return refuse(reader, "byte %llu: process %u was never begun", (unsigned long long)reader->offset, head->pid);
  *index = *known - 1;
  return true;
}

static bool copy_command(struct reader *reader, struct hak_process *process, const struct chunk *chunk)
{
  process->command = calloc(1, (size_t)chunk->used + 1);
  if (process->command == NULL)
    return no_memory(reader);
  memcpy(process->command, chunk->payload, chunk->used);
  process->command_bytes = chunk->used;
  return true;
}

static bool begin_site_table(struct reader *reader, struct hak_process *process, struct parts *parts)
{
  if (!make_room(reader, (void **)&process->site, &parts->site_room, 1, sizeof *process->site))
    return false;
  process->site[0] = (struct hak_site){0, 0};
  process->sites = 1;
  return true;
}

static bool begin_process(struct reader *reader, const struct head *head, const struct chunk *chunk)
{
  struct hak_trace *out = reader->out;
  size_t at = out->processes;
  uint32_t *known = hak_pairs_at(&reader->processes, process_key(head), 0);
  if (known == NULL || at == UINT32_MAX)
    return no_memory(reader);
  if (!make_room(reader, (void **)&out->process, &reader->process_room, at + 1, sizeof *out->process) ||
      !make_room(reader, (void **)&reader->parts, &reader->parts_room, at + 1, sizeof *reader->parts))
    return false;
  out->process[at] =
    (struct hak_process){.pid = head->pid, .image = head->image, .parent = head->parent, .lost = head->lost};
  reader->parts[at] = (struct parts){0};
  out->processes = at + 1;
  *known = (uint32_t)at + 1;
  return copy_command(reader, &out->process[at], chunk) &&
         begin_site_table(reader, &out->process[at], &reader->parts[at]);
}

static bool add_modules(struct reader *reader, const struct head *head, const struct chunk *chunk)
{
  size_t at;
  if (!process_of(reader, head, &at))
    return false;
  struct hak_process *process = &reader->out->process[at];
  struct parts *parts = &reader->parts[at];
  size_t bytes = parts->module_bytes + chunk->used;
  if (!make_room(reader, (void **)&process->modules, &parts->module_room, bytes + 1, 1))
    return false;
  memcpy(process->modules + parts->module_bytes, chunk->payload, chunk->used);
  process->modules[bytes] = '\0';
  parts->module_bytes = bytes;
  return true;
}

/* ---- threads ---- */

static struct thread *add_thread(struct reader *reader, struct parts *parts, uint32_t number)
{
  if (!make_room(reader, (void **)&parts->thread, &parts->thread_room, parts->threads + 1, sizeof *parts->thread))
    return NULL;
  struct thread *thread = calloc(1, sizeof *thread);
  if (thread == NULL) {
    no_memory(reader);
    return NULL;
  }
  thread->number = number;
  parts->thread[parts->threads++] = thread;
  return thread;
}

static struct thread *thread_of(struct reader *reader, size_t process, uint32_t number)
{
  struct parts *parts = &reader->parts[process];
  uint32_t *known = hak_pairs_at(&reader->threads, process, number);
  if (known == NULL) {
    no_memory(reader);
    return NULL;
  }
  if (*known != 0)
    return parts->thread[*known - 1];
  struct thread *thread = add_thread(reader, parts, number);
  if (thread != NULL)
    *known = (uint32_t)parts->threads;
  return thread;
}

/* Takes ownership of the chunk on success. */
static bool add_events(struct reader *reader, const struct head *head, struct chunk *chunk)
{
  size_t at;
  if (!process_of(reader, head, &at))
    return false;
  struct thread *thread = thread_of(reader, at, head->thread);
  if (thread == NULL)
    return false;
  if (head->serial != thread->records)
    return refuse(reader, "process %u, thread %u: record %llu came where %llu was due", head->pid, head->thread,
                  (unsigned long long)head->serial, (unsigned long long)thread->records);
  thread->records++;
  if (thread->last == NULL)
    thread->first = chunk;
  else
    thread->last->next = chunk;
  thread->last = chunk;
  reader->parts[at].announced += head->events;
  reader->out->process[at].lost = sum(reader->out->process[at].lost, head->lost);
  return true;
}

/* ---- records ---- */

static bool check_head(struct reader *reader, const struct head *head)
{
  unsigned long long at = reader->offset;
  if (head->version != version)
    return refuse(reader, "version %u of the trace format, which this reader does not know", head->version);
  if (head->kind < kind_process || head->kind > kind_events)
    return refuse(reader, "byte %llu: a record of an unknown kind (%u)", at, head->kind);
  if (head->used > most_used)
    return refuse(reader, "byte %llu: a record of %u bytes, which is more than one may have", at, head->used);
  if (head->events > head->used / least_event_bytes)
    return refuse(reader, "byte %llu: %u events in %u bytes", at, head->events, head->used);
  if (head->ns > UINT64_C(1) << 62)
    return refuse(reader, "byte %llu: a time is too late", at);
  return true;
}

static bool check_magic(struct reader *reader, const struct head *head, size_t got)
{
  if (memcmp(head->magic, "HAKT", got < 4 ? got : 4) == 0)
    return true;
  if (reader->offset == 0)
    return refuse(reader, "not a trace");
  return refuse(reader, "byte %llu: not a record of a trace", (unsigned long long)reader->offset);
}

/* NULL at the end of the readable part; *out is marked torn then. */
static struct chunk *read_payload(struct reader *reader, const struct head *head)
{
  struct chunk *chunk = malloc(sizeof *chunk + head->used + chunk_pad);
  if (chunk == NULL) {
    no_memory(reader);
    return NULL;
  }
  *chunk = (struct chunk){.ns = head->ns, .used = head->used, .events = head->events};
  memset(chunk->payload + head->used, 0, chunk_pad);
  if (fread(chunk->payload, 1, head->used, reader->in) == head->used)
    return chunk;
  reader->out->torn = true;
  free(chunk);
  return NULL;
}

static bool place_record(struct reader *reader, const struct head *head, struct chunk *chunk)
{
  if (head->kind == kind_events) {
    bool taken = add_events(reader, head, chunk);
    if (!taken)
      free(chunk);
    return taken;
  }
  bool done = head->kind == kind_process ? begin_process(reader, head, chunk) : add_modules(reader, head, chunk);
  free(chunk);
  return done;
}

/* False at the end: complete, torn or refused. */
static bool read_record(struct reader *reader)
{
  struct head head;
  size_t got = fread(&head, 1, sizeof head, reader->in);
  if (got == 0 || !check_magic(reader, &head, got))
    return false;
  reader->out->torn = got < sizeof head;
  if (reader->out->torn || !check_head(reader, &head))
    return false;
  struct chunk *chunk = read_payload(reader, &head);
  if (chunk == NULL || !place_record(reader, &head, chunk))
    return false;
  reader->offset += sizeof head + head.used;
  return true;
}

void drop_first_chunk(struct thread *thread)
{
  struct chunk *chunk = thread->first;
  thread->first = chunk->next;
  free(chunk);
}

static void drop_parts(struct parts *parts)
{
  for (size_t i = 0; i < parts->threads; i++) {
    while (parts->thread[i]->first != NULL)
      drop_first_chunk(parts->thread[i]);
    free(parts->thread[i]);
  }
  free(parts->thread);
  hak_pairs_drop(&parts->sites);
}

static void drop_reader(struct reader *reader)
{
  for (size_t i = 0; i < reader->out->processes; i++)
    drop_parts(&reader->parts[i]);
  free(reader->parts);
  hak_pairs_drop(&reader->processes);
  hak_pairs_drop(&reader->threads);
}

/* The events are merged even after a refusal: a trace that is broken in the middle still has events. */
bool hak_trace_read(FILE *in, struct hak_trace *out, char *why, size_t size)
{
  char unseen[2];
  struct reader reader = {.in = in, .out = out, .why = size < 2 ? unseen : why, .why_size = size < 2 ? 2 : size};
  *out = (struct hak_trace){0};
  reader.why[0] = '\0';
  while (read_record(&reader))
    ;
  if (ferror(in))
    refuse(&reader, "it cannot be read: %s", strerror(errno));
  merge_all(&reader);
  drop_reader(&reader);
  return reader.why[0] == '\0';
}

static void drop_process(struct hak_process *process)
{
  free(process->command);
  free(process->modules);
  free(process->event);
  free(process->site);
}

void hak_trace_drop(struct hak_trace *trace)
{
  for (size_t i = 0; i < trace->processes; i++)
    drop_process(&trace->process[i]);
  free(trace->process);
  *trace = (struct hak_trace){0};
}
