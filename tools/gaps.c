/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gaps.c: how long free blocks wait for the next request; see gaps.h.
 *
 * what      A walk over the events. A record stands for a piece of memory, which belongs to a live block or lies in
 *           the pool of its bin. A new block takes the youngest record of its pool, or a new record.
 * owner     struct walk.
 */
#include "gaps.h"
#include "pairs.h"
#include <stdlib.h>
#include <string.h>

enum { none = 0 }; /* records and groups count from 1 */

struct record {
  uint64_t freed_ns;
  uint32_t below; /* the next older record of the pool */
  uint32_t pages, bin, group; /* of the last block */
  uint32_t turn; /* turn of the last free */
};

struct walk {
  const struct hak_process *process;
  struct hak_cut cut;
  struct hak_gaps *out;
  uint32_t *record_of; /* by block; none: too small */
  struct record *record;
  uint32_t *pool; /* youngest record of each bin */
  struct hak_pairs group; /* (site, bin) -> number of the group, from 1 */
  size_t records, record_room, gap_room, group_room, turn_room;
  bool failed;
};

uint32_t hak_bin_of(uint64_t bytes, uint32_t bins)
{
  uint64_t last = bytes > 1 ? bytes - 1 : 1;
  uint32_t log = 63u - (uint32_t)__builtin_clzll(last);
  uint64_t above = last - (UINT64_C(1) << log);
  return log * bins + (uint32_t)((unsigned __int128)above * bins >> log);
}

/* Makes room for `count` + 1 elements. */
static bool make_room(void **array, size_t *room, size_t count, size_t size)
{
  if (count < *room) return true;
  size_t wanted = *room < 1024 ? 1024 : *room * 2;
  void *more = realloc(*array, wanted * size);
  if (more == NULL) return false;
  *array = more;
  *room = wanted;
  return true;
}

/* Returns the group's index, from 0. */
static uint32_t group_of(struct walk *w, uint32_t site, uint32_t bin)
{
  struct hak_gaps *out = w->out;
  uint32_t *known = hak_pairs_at(&w->group, site, bin);
  if (known == NULL || !make_room((void **)&out->group, &w->group_room, out->groups, sizeof *out->group)) {
    w->failed = true;
    return 0;
  }
  if (*known == none) {
    out->group[out->groups++] = (struct hak_group){site, bin};
    *known = out->groups;
  }
  return *known - 1;
}

/* ---- pools ---- */

static void note_gap(struct walk *w, const struct record *record, uint64_t until_ns, bool open)
{
  struct hak_gaps *out = w->out;
  if (!make_room((void **)&out->gap, &w->gap_room, out->gaps, sizeof *out->gap)) {
    w->failed = true;
    return;
  }
  out->gap[out->gaps++] = (struct hak_gap){
      .freed_ns = record->freed_ns, .ns = until_ns - record->freed_ns,
      .pages = record->pages, .group = record->group & INT32_MAX, .open = open, .turn = record->turn};
}

/* Notes the record's present state as a turn. Returns the turn's number. */
static uint32_t note_turn(struct walk *w, uint64_t ns, uint32_t number, bool freed)
{
  struct hak_gaps *out = w->out;
  const struct record *record = &w->record[number];
  if (!w->cut.turns || w->failed) return 0;
  w->failed = out->turns >= UINT32_MAX ||
              !make_room((void **)&out->turn, &w->turn_room, out->turns, sizeof *out->turn);
  if (w->failed) return 0;
  out->turn[out->turns] = (struct hak_turn){
      .ns = ns, .record = number, .pages = record->pages, .group = record->group & INT32_MAX, .freed = freed};
  return (uint32_t)out->turns++;
}

static uint32_t fetch(struct walk *w)
{
  if (!make_room((void **)&w->record, &w->record_room, w->records + 1, sizeof *w->record)) {
    w->failed = true;
    return none;
  }
  w->out->first++;
  return (uint32_t)++w->records;
}

/* Returns the pool's youngest record, or a new record. */
static uint32_t take(struct walk *w, uint32_t bin, uint64_t ns)
{
  uint32_t found = w->pool[bin];
  if (found == none) return fetch(w);
  note_gap(w, &w->record[found], ns, false);
  w->pool[bin] = w->record[found].below;
  return found;
}

static uint32_t pages_of(uint64_t bytes)
{
  uint64_t pages = bytes / HAK_PAGE + (bytes % HAK_PAGE != 0);
  return pages < UINT32_MAX ? (uint32_t)pages : UINT32_MAX;
}

/* Gives the block's record the event's size and site. */
static void label(struct walk *w, uint32_t record, const struct hak_event *event, uint32_t bin)
{
  w->record_of[event->block] = record;
  if (record == none) return;
  w->record[record].group = group_of(w, event->site, bin);
  w->record[record].bin = bin;
  w->record[record].pages = pages_of(event->size);
}

/* Returns the turn's number. */
static uint32_t come(struct walk *w, const struct hak_event *event)
{
  if (event->block == 0 || event->size < w->cut.least) return 0;
  uint32_t bin = hak_bin_of(event->size, w->cut.bins), record = take(w, bin, event->ns);
  w->out->blocks++;
  label(w, record, event, bin);
  return record != none ? note_turn(w, event->ns, record, false) : 0;
}

static void lay(struct walk *w, uint32_t block, uint64_t ns, uint32_t turn)
{
  uint32_t gone = w->record_of[block];
  struct record *record = &w->record[gone];
  record->freed_ns = ns;
  record->turn = turn;
  record->below = w->pool[record->bin];
  w->pool[record->bin] = gone;
  w->record_of[block] = none;
}

static void go(struct walk *w, uint32_t block, uint64_t ns)
{
  uint32_t gone = w->record_of[block];
  if (gone != none) lay(w, block, ns, note_turn(w, ns, gone, true));
}

/* The old and the new block exist side by side until the bytes are copied. */
static void move(struct walk *w, const struct hak_event *event, uint32_t old)
{
  uint32_t turn = come(w, event);
  if (w->cut.turns && !w->failed) w->out->turn[turn].from = old;
  lay(w, event->old, event->ns, turn);
}

/* Within a bin the block stays in place. */
static void resize(struct walk *w, const struct hak_event *event)
{
  if (event->block == 0) return;
  uint32_t old = w->record_of[event->old];
  uint32_t bin = hak_bin_of(event->size, w->cut.bins);
  if (old != none && event->size >= w->cut.least && w->record[old].bin == bin) {
    w->record_of[event->old] = none;
    label(w, old, event, bin);
  } else if (old != none && event->size >= w->cut.least) {
    move(w, event, old);
  } else {
    come(w, event);
    go(w, event->old, event->ns);
  }
}

static void follow(struct walk *w, const struct hak_event *event)
{
  if (event->operation == HAK_OP_FREE) {
    go(w, event->block, event->ns);
  } else if (event->operation == HAK_OP_RESIZE) {
    resize(w, event);
  } else {
    come(w, event);
  }
}

static void close_pools(struct walk *w, uint64_t end_ns)
{
  for (uint32_t bin = 0; bin < 64 * w->cut.bins; bin++)
    for (uint32_t at = w->pool[bin]; at != none; at = w->record[at].below) note_gap(w, &w->record[at], end_ns, true);
}

static void walk_all(struct walk *w)
{
  const struct hak_process *process = w->process;
  for (size_t i = 0; i < process->events && !w->failed; i++) follow(w, &process->event[i]);
  if (process->events > 0 && !w->failed) close_pools(w, process->event[process->events - 1].ns);
}

bool hak_gaps_collect(const struct hak_process *process, struct hak_cut cut, struct hak_gaps *out)
{
  struct walk w = {.process = process, .cut = cut, .out = out};
  memset(out, 0, sizeof *out);
  w.record_of = calloc((size_t)process->blocks + 1, sizeof *w.record_of);
  w.pool = calloc((size_t)64 * cut.bins, sizeof *w.pool);
  w.failed = w.record_of == NULL || w.pool == NULL;
  if (!w.failed) walk_all(&w);
  free(w.record_of);
  free(w.pool);
  free(w.record);
  hak_pairs_drop(&w.group);
  if (w.failed) hak_gaps_drop(out);
  return !w.failed;
}

void hak_gaps_drop(struct hak_gaps *gaps)
{
  free(gaps->gap);
  free(gaps->group);
  free(gaps->turn);
  memset(gaps, 0, sizeof *gaps);
}
