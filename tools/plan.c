/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* plan.c: see plan.h.
 *
 * what      Two passes over the events: the first finds each block's allocating and freeing threads, the second writes
 *           the calls.
 * failure   Out of memory: the program ends with a line.
 */
#define _GNU_SOURCE
#include "plan.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A block, until the plan is made. */
struct life {
  uint64_t size;
  uint32_t maker;
  bool handed;
};

struct planner {
  const struct hak_process *process;
  struct plan *plan;
  struct life *life;
  size_t *stretches; /* by thread */
  uint32_t *epoch;   /* by thread: the latest epoch, from 1 */
  uint64_t live;
};

void *plan_pages(size_t bytes)
{
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
  void *pages = mmap(NULL, bytes == 0 ? 1 : bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (pages != MAP_FAILED)
    return pages;
  fprintf(stderr, "hak_replay: no memory for what is to be replayed (%zu bytes)\n", bytes);
  exit(1);
}

static bool is_skipped(const struct hak_event *e)
{
  return e->block == 0;
}

static uint32_t goes(const struct hak_event *e)
{
  return e->operation == HAK_OP_FREE ? e->block : e->old;
}

static uint32_t comes(const struct hak_event *e)
{
  return e->operation == HAK_OP_FREE ? 0 : e->block;
}

/* True, counted as a stretch, for the thread's first call in the epoch. */
static bool begins_stretch(struct planner *p, uint32_t thread, size_t call)
{
  uint32_t epoch = (uint32_t)(call / epoch_calls) + 1;
  bool begins = p->epoch[thread] != epoch;
  p->epoch[thread] = epoch;
  return begins;
}

static void look_at(struct planner *p, const struct hak_event *e)
{
  struct life *gone = &p->life[goes(e)];
  struct life *new = &p->life[comes(e)];
  if (goes(e) != 0) {
    p->live -= gone->size;
    gone->handed |= gone->maker != e->thread;
  }
  if (comes(e) != 0) {
    *new = (struct life){.size = e->size, .maker = e->thread};
    p->live += e->size;
  }
  if (p->live > p->plan->most_live)
    p->plan->most_live = p->live;
}

static void first_pass(struct planner *p)
{
  struct plan *plan = p->plan;
  for (size_t i = 0; i < p->process->events; i++) {
    const struct hak_event *e = &p->process->event[i];
    if (is_skipped(e)) {
      plan->skipped++;
      continue;
    }
    look_at(p, e);
    p->stretches[e->thread] += begins_stretch(p, e->thread, plan->calls);
    plan->part[e->thread].calls++;
    plan->calls++;
  }
  plan->epochs = (uint32_t)((plan->calls + epoch_calls - 1) / epoch_calls);
}

/* The calls of all threads lie in a mapping, the stretches in a second mapping. */
static void deal_out_room(struct planner *p, bool due, bool sites)
{
  struct plan *plan = p->plan;
  size_t stretches = 0;
  for (uint32_t t = 0; t < plan->threads; t++)
    stretches += p->stretches[t];
  struct call *call = plan_pages(plan->calls * sizeof *call);
  struct stretch *stretch = plan_pages(stretches * sizeof *stretch);
  uint64_t *times = due ? plan_pages(plan->calls * sizeof *times) : NULL;
  struct hak_site *site = sites ? plan_pages(plan->calls * sizeof *site) : NULL;
  for (uint32_t t = 0; t < plan->threads; t++) {
    struct part *part = &plan->part[t];
    part->call = call;
    part->stretch = stretch;
    part->due = times;
    part->site = site;
    call += part->calls;
    stretch += p->stretches[t];
    times = due ? times + part->calls : NULL;
    site = sites ? site + part->calls : NULL;
    part->calls = 0;
  }
  plan->busy = plan_pages(plan->epochs * sizeof *plan->busy);
}

static const uint64_t size_mask = (UINT64_C(1) << 48) - 1;

static struct call call_of(const struct planner *p, const struct hak_event *e)
{
  return (struct call){
    .size = e->operation == HAK_OP_FREE ? 0 : e->size & size_mask,
    .operation = e->operation & 7u,
    .align_log = e->align_log & 63u,
    .handed = p->life[comes(e)].handed,
    .foreign = goes(e) != 0 && p->life[goes(e)].maker != e->thread,
    .block = comes(e),
    .old = goes(e),
  };
}

static void begin_stretch(struct plan *plan, uint32_t thread, uint32_t epoch)
{
  struct part *part = &plan->part[thread];
  if (part->stretches == 0)
    plan->order[plan->starts++] = thread;
  part->stretch[part->stretches++] = (struct stretch){epoch, 0};
  plan->busy[epoch]++;
}

static void second_pass(struct planner *p)
{
  struct plan *plan = p->plan;
  size_t done = 0;
  memset(p->epoch, 0, plan->threads * sizeof *p->epoch);
  for (size_t i = 0; i < p->process->events; i++) {
    const struct hak_event *e = &p->process->event[i];
    struct part *part = &plan->part[e->thread];
    if (is_skipped(e))
      continue;
    if (begins_stretch(p, e->thread, done))
      begin_stretch(plan, e->thread, (uint32_t)(done / epoch_calls));
    part->stretch[part->stretches - 1].calls++;
    if (part->due != NULL)
      part->due[part->calls] = e->ns - p->process->event[0].ns;
    if (part->site != NULL)
      part->site[part->calls] = p->process->site[e->site];
    part->call[part->calls++] = call_of(p, e);
    done++;
  }
}

void plan_make(const struct hak_process *process, bool due, bool sites, struct plan *out)
{
  size_t life_bytes = ((size_t)process->blocks + 1) * sizeof(struct life);
  size_t threads = process->threads;
  *out = (struct plan){.threads = process->threads, .blocks = process->blocks};
  out->part = plan_pages(threads * sizeof *out->part);
  out->order = plan_pages(threads * sizeof *out->order);
  struct planner p = {.process = process, .plan = out, .life = plan_pages(life_bytes)};
  p.stretches = plan_pages(threads * sizeof *p.stretches);
  p.epoch = plan_pages(threads * sizeof *p.epoch);
  first_pass(&p);
  deal_out_room(&p, due, sites);
  second_pass(&p);
  munmap(p.life, life_bytes);
}
