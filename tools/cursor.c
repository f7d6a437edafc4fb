/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cursor.c: decodes the payloads of a thread, event by event.
 *
 * what      The format is docs/guide/trace-format.md. A thread's clock never goes back: a time before the last time
 *           counts as the last time.
 * owner     The thread's chunks: each is freed after its last event.
 * failure   A payload that breaks the format refuses the trace.
 */
#include "parts.h"

static const uint64_t most_ns = UINT64_C(1) << 62;
static const uint64_t most_size = UINT64_C(1) << 47;
static const uint64_t most_address = UINT64_C(1) << 60; /* [16 B] */
enum { new_site = 31, operation_bits = 3, most_align_log = 63 };

struct decoder {
  const uint8_t *at;
  const char *wrong;
};

static uint64_t long_varint(struct decoder *d, uint64_t value)
{
  for (unsigned shift = 7; shift < 64; shift += 7) {
    uint64_t byte = *d->at++;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      if (shift == 63 && byte > 1)
        break;
      return value;
    }
  }
  d->wrong = "a number is too long";
  return 0;
}

static inline uint64_t varint(struct decoder *d)
{
  uint64_t byte = *d->at++;
  return byte < 0x80 ? byte : long_varint(d, byte & 0x7f);
}

static inline uint64_t moved(struct decoder *d, uint64_t from)
{
  uint64_t zigzag = varint(d);
  return from + ((zigzag >> 1) ^ (0 - (zigzag & 1)));
}

static inline uint64_t came(struct decoder *d, struct thread *thread)
{
  uint64_t address = moved(d, thread->last_came);
  if (address != 0)
    thread->last_came = address;
  if (address > most_address)
    d->wrong = "an address is too high";
  return address;
}

static inline uint64_t went(struct decoder *d, struct thread *thread)
{
  thread->last_went = moved(d, thread->last_went);
  if (thread->last_went > most_address)
    d->wrong = "an address is too high";
  return thread->last_went;
}

static void begin_chunk(struct thread *thread)
{
  const struct chunk *chunk = thread->first;
  thread->at = chunk->payload;
  thread->end = thread->at + chunk->used;
  thread->left = chunk->events;
  thread->clock = chunk->ns;
  thread->slots_used = 0;
  thread->last_came = thread->last_went = thread->last_site = 0;
}

/* Goes to the next chunk when all events of a chunk are read; *more is false after the last chunk. */
static bool next_chunk(struct reader *reader, size_t process, struct thread *thread, bool *more)
{
  if (thread->at != thread->end)
    return refuse(reader, "process %u, thread %u: more bytes than its events have",
                  reader->out->process[process].pid, thread->number);
  if (thread->at != NULL)
    drop_first_chunk(thread);
  thread->at = thread->end = NULL;
  *more = thread->first != NULL;
  if (*more)
    begin_chunk(thread);
  return true;
}

static uint32_t site_index(struct reader *reader, size_t process, struct hak_site site, struct decoder *d)
{
  struct hak_process *p = &reader->out->process[process];
  struct parts *parts = &reader->parts[process];
  if (site.address == 0 && site.depth == 0)
    return 0;
  uint32_t *index = hak_pairs_at(&parts->sites, site.address, site.depth);
  if (index != NULL && *index != 0)
    return *index;
  if (index == NULL || !make_room(reader, (void **)&p->site, &parts->site_room, (size_t)p->sites + 1, sizeof site)) {
    d->wrong = "out of memory";
    return 0;
  }
  p->site[p->sites] = site;
  *index = p->sites++;
  return *index;
}

static uint32_t full_site(struct reader *reader, size_t process, struct thread *thread, struct decoder *d)
{
  struct hak_site site;
  site.address = thread->last_site = moved(d, thread->last_site);
  site.depth = varint(d);
  unsigned slot = (unsigned)(((site.address * 0x9E3779B97F4A7C15u + site.depth) >> 32) % site_slots);
  thread->slots_used |= 1u << slot;
  thread->slot[slot] = site_index(reader, process, site, d);
  return thread->slot[slot];
}

static uint32_t site_in_slot(const struct thread *thread, unsigned slot, struct decoder *d)
{
  if ((thread->slots_used >> slot & 1) == 0)
    d->wrong = "a call site that was never said";
  return thread->slot[slot];
}

static void read_fields(struct thread *thread, struct step *step, struct decoder *d)
{
  switch (step->operation) {
  case HAK_OP_ALLOC:
  case HAK_OP_CALLOC:
    step->came = came(d, thread);
    step->size = varint(d);
    return;
  case HAK_OP_ALIGNED:
    step->came = came(d, thread);
    step->size = varint(d);
    step->took = varint(d);
    return;
  case HAK_OP_FREE:
    step->went = went(d, thread);
    return;
  case HAK_OP_RESIZE:
    step->went = went(d, thread);
    step->came = came(d, thread);
    step->size = varint(d);
    step->took = varint(d);
    return;
  default:
    d->wrong = "an unknown operation";
  }
}

/* `took` holds the logarithm of the alignment until here, if the operation has an alignment. */
static void check_fields(struct step *step, struct decoder *d)
{
  if (step->came != 0 && step->size > most_size)
    d->wrong = "a size is too large";
  if (step->operation == HAK_OP_ALIGNED) {
    if (step->took > most_align_log)
      d->wrong = "an alignment is too large";
    step->align_log = (uint8_t)step->took;
    step->took = 0;
  }
  if (step->took > most_ns - step->ns)
    d->wrong = "a time is too late";
}

static void set_time(struct thread *thread, struct decoder *d, uint64_t passed)
{
  if (passed > most_ns || thread->clock > most_ns - passed)
    d->wrong = "a time is too late";
  else
    thread->clock += passed;
  if (thread->latest < thread->clock)
    thread->latest = thread->clock;
}

static void read_event(struct reader *reader, size_t process, struct thread *thread, struct decoder *d)
{
  struct step *step = &thread->step;
  unsigned first = *d->at++;
  unsigned slot = first >> operation_bits;
  *step = (struct step){.operation = first & ((1u << operation_bits) - 1)};
  step->site = slot == new_site ? full_site(reader, process, thread, d) : site_in_slot(thread, slot, d);
  set_time(thread, d, varint(d));
  read_fields(thread, step, d);
  step->ns = thread->latest;
  check_fields(step, d);
  step->comes = step->operation < HAK_OP_FREE;
  if (d->at > thread->end)
    d->wrong = "an event runs over the end of its record";
  thread->at = d->at;
}

/* The second step of a resize: the new block. */
static bool second_step(struct thread *thread)
{
  struct step *step = &thread->step;
  if (step->operation != HAK_OP_RESIZE || step->comes)
    return false;
  step->comes = true;
  step->ns += step->took;
  thread->latest = step->ns;
  return true;
}

bool cursor_next(struct reader *reader, size_t process, struct thread *thread, bool *more)
{
  *more = true;
  if (second_step(thread))
    return true;
  while (thread->left == 0) {
    if (!next_chunk(reader, process, thread, more))
      return false;
    if (!*more)
      return true;
  }
  thread->left--;
  struct decoder d = {thread->at, NULL};
  read_event(reader, process, thread, &d);
  if (d.wrong != NULL)
    return refuse(reader, "process %u, thread %u: %s", reader->out->process[process].pid, thread->number, d.wrong);
  return true;
}
