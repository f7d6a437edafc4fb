/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* merge.c: makes the events of a trace from the threads of all processes.
 *
 * what      A heap orders the threads by the time of the next step; a table has the live blocks by address. Of two
 *           steps at the same time, a free is first.
 * owner     struct merge, for one process.
 * failure   Events made before the failure stay.
 */
#include "parts.h"
#include <stdlib.h>

enum { first_places = 64 };

/* A live block. */
struct place {
  uint64_t address, size;
  uint32_t block; /* 0: empty */
};

struct places {
  struct place *place;
  size_t mask, used;
  uint64_t seed;
};

struct merge {
  struct reader *reader;
  struct hak_process *out;
  size_t process, event_room;
  uint64_t start;
  struct places places;
  struct thread **heap; /* the earliest next step first */
  size_t threads;
};

/* ---- the table of blocks: open addressing, at most half full ---- */

static size_t home_of(const struct places *places, uint64_t address)
{
  return (size_t)(hak_hash(places->seed, address) >> 24) & places->mask;
}

/* The block's place, or the empty place for the address. */
static struct place *find(const struct places *places, uint64_t address)
{
  size_t at = home_of(places, address);
  while (places->place[at].block != 0 && places->place[at].address != address)
    at = (at + 1) & places->mask;
  return &places->place[at];
}

static bool grow(struct places *places)
{
  struct places wider = {.mask = 2 * places->mask + 1, .used = places->used, .seed = places->seed};
  if (places->place == NULL)
    wider.mask = first_places - 1;
  wider.place = calloc(wider.mask + 1, sizeof *wider.place);
  if (wider.place == NULL)
    return false;
  for (size_t i = 0; places->place != NULL && i <= places->mask; i++)
    if (places->place[i].block != 0)
      *find(&wider, places->place[i].address) = places->place[i];
  free(places->place);
  *places = wider;
  return true;
}

/* Moves blocks behind the gap, displaced by the removed block, nearer to the home places. */
static void take_out(struct places *places, struct place *gone)
{
  size_t hole = (size_t)(gone - places->place);
  for (size_t at = (hole + 1) & places->mask; places->place[at].block != 0; at = (at + 1) & places->mask) {
    size_t home = home_of(places, places->place[at].address);
    if (((at - home) & places->mask) >= ((at - hole) & places->mask)) {
      places->place[hole] = places->place[at];
      hole = at;
    }
  }
  places->place[hole].block = 0;
  places->used--;
}

/* ---- events ---- */

static struct hak_event *add_event(struct merge *m, const struct thread *thread)
{
  struct hak_process *out = m->out;
  if (out->events == m->event_room &&
      !make_room(m->reader, (void **)&out->event, &m->event_room, out->events + 1, sizeof *out->event))
    return NULL;
  struct hak_event *event = &out->event[out->events++];
  *event = (struct hak_event){
    .ns = thread->step.ns - m->start,
    .site = thread->step.site,
    .thread = thread->index,
    .operation = thread->step.operation,
  };
  return event;
}

static bool add_free(struct merge *m, const struct thread *thread, const struct place *gone, bool implied)
{
  struct hak_event *event = add_event(m, thread);
  if (event == NULL)
    return false;
  event->operation = HAK_OP_FREE;
  event->block = gone->block;
  event->size = gone->size;
  if (implied) {
    event->site = 0;
    m->out->implied++;
  }
  return true;
}

static struct place *block_gone(struct merge *m, uint64_t address)
{
  struct place *gone = find(&m->places, address);
  if (gone->block != 0)
    return gone;
  m->out->unknown++;
  return NULL;
}

static bool step_free(struct merge *m, struct thread *thread)
{
  struct place *gone = block_gone(m, thread->step.went);
  if (gone == NULL)
    return true;
  bool added = add_free(m, thread, gone, false);
  take_out(&m->places, gone);
  return added;
}

static void step_resize(struct merge *m, struct thread *thread)
{
  struct place *gone = thread->step.came == 0 ? NULL : block_gone(m, thread->step.went);
  if (gone == NULL)
    return;
  thread->step.old = gone->block;
  take_out(&m->places, gone);
}

/* Returns the new block's number; 0: no room. */
static uint32_t block_came(struct merge *m, const struct thread *thread)
{
  struct places *places = &m->places;
  if (2 * places->used >= places->mask && !grow(places))
    return 0;
  struct place *place = find(places, thread->step.came);
  if (place->block != 0 && !add_free(m, thread, place, true))
    return 0;
  places->used += place->block == 0;
  *place = (struct place){thread->step.came, thread->step.size, ++m->out->blocks};
  return place->block;
}

static bool step_came(struct merge *m, const struct thread *thread)
{
  const struct step *step = &thread->step;
  uint32_t block = step->came == 0 ? 0 : block_came(m, thread);
  if (step->came != 0 && block == 0)
    return no_memory(m->reader);
  struct hak_event *event = add_event(m, thread);
  if (event == NULL)
    return false;
  event->block = block;
  event->old = step->old;
  event->size = step->size;
  event->align_log = step->align_log;
  event->took = step->took > UINT32_MAX ? UINT32_MAX : (uint32_t)step->took;
  return true;
}

static bool carry_out(struct merge *m, struct thread *thread)
{
  if (thread->step.comes)
    return step_came(m, thread);
  if (thread->step.operation == HAK_OP_FREE)
    return step_free(m, thread);
  step_resize(m, thread);
  return true;
}

/* ---- the heap ---- */

static bool before(const struct thread *a, const struct thread *b)
{
  if (a->step.ns != b->step.ns)
    return a->step.ns < b->step.ns;
  if (a->step.comes != b->step.comes)
    return b->step.comes;
  return a->index < b->index;
}

/* Puts `thread` at `hole`, or deeper below threads with earlier steps. */
static void sink(struct merge *m, size_t hole, struct thread *thread)
{
  for (size_t child; (child = 2 * hole + 1) < m->threads; hole = child) {
    if (child + 1 < m->threads && before(m->heap[child + 1], m->heap[child]))
      child++;
    if (!before(m->heap[child], thread))
      break;
    m->heap[hole] = m->heap[child];
  }
  m->heap[hole] = thread;
}

static void make_heap(struct merge *m)
{
  for (size_t i = m->threads / 2; i-- > 0;)
    sink(m, i, m->heap[i]);
}

/* Carries out a step and decodes the thread's next step. */
static bool advance(struct merge *m, bool *more)
{
  struct thread *first = m->heap[0];
  if (!carry_out(m, first) || !cursor_next(m->reader, m->process, first, more))
    return false;
  if (*more)
    sink(m, 0, first);
  else if (--m->threads > 0)
    sink(m, 0, m->heap[m->threads]);
  *more = m->threads > 0;
  return true;
}

static bool merge_process(struct merge *m)
{
  uint64_t announced = m->reader->parts[m->process].announced;
  bool more = m->threads > 0;
  if (!more)
    return true;
  if (!grow(&m->places) ||
      !make_room(m->reader, (void **)&m->out->event, &m->event_room, announced, sizeof *m->out->event))
    return no_memory(m->reader);
  make_heap(m);
  while (more && m->out->blocks < UINT32_MAX)
    if (!advance(m, &more))
      return false;
  return !more || refuse(m->reader, "process %u: more blocks than can be numbered", m->out->pid);
}

/* ---- all processes ---- */

/* Shell's sort: libc's qsort may call malloc, and hak_replay must not use the malloc under measurement. */
static void sort_by_number(struct thread **thread, size_t threads)
{
  size_t gap = 1;
  while (gap < threads / 3)
    gap = 3 * gap + 1;
  for (; gap > 0; gap /= 3)
    for (size_t i = gap; i < threads; i++) {
      struct thread *one = thread[i];
      size_t at = i;
      for (; at >= gap && thread[at - gap]->number > one->number; at -= gap)
        thread[at] = thread[at - gap];
      thread[at] = one;
    }
}

/* Decodes the threads' first steps; a thread without a step is left out. */
static bool begin_threads(struct reader *reader, size_t process, uint64_t *start)
{
  struct parts *parts = &reader->parts[process];
  reader->out->process[process].threads = (uint32_t)parts->threads;
  sort_by_number(parts->thread, parts->threads);
  for (size_t i = 0; i < parts->threads; i++) {
    struct thread *thread = parts->thread[i];
    bool more;
    thread->index = (uint32_t)i;
    if (!cursor_next(reader, process, thread, &more))
      return false;
    if (more && thread->step.ns < *start)
      *start = thread->step.ns;
  }
  return true;
}

static bool begin_merge(struct merge *m)
{
  const struct parts *parts = &m->reader->parts[m->process];
  m->places.seed = hak_hash_seed();
  m->heap = calloc(parts->threads + 1, sizeof *m->heap);
  if (m->heap == NULL)
    return no_memory(m->reader);
  for (size_t i = 0; i < parts->threads; i++)
    if (parts->thread[i]->at != NULL)
      m->heap[m->threads++] = parts->thread[i];
  return true;
}

bool merge_all(struct reader *reader)
{
  struct hak_trace *out = reader->out;
  uint64_t start = UINT64_MAX;
  bool good = true;
  for (size_t i = 0; good && i < out->processes; i++)
    good = begin_threads(reader, i, &start);
  for (size_t i = 0; good && i < out->processes; i++) {
    struct merge m = {.reader = reader, .out = &out->process[i], .process = i, .start = start};
    good = begin_merge(&m) && merge_process(&m);
    free(m.places.place);
    free(m.heap);
  }
  return good;
}
