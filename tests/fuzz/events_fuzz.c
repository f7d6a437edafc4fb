/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* events_fuzz.c: any bytes are read as a trace; started by run.py.
 *
 * what      The events must be consistent, for a good or a broken trace: time never goes back, blocks are numbered in
 *           order of allocation, and a freed block exists.
 */
#define _GNU_SOURCE
#include "events.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
  if (!holds)
    abort();
}

struct there {
  uint64_t *size; /* by block; absent: SIZE_MAX */
  uint32_t blocks, last;
};

static void come(struct there *there, const struct hak_event *e)
{
  if (e->block == 0)
    return;
  must(e->block == ++there->last && e->block <= there->blocks);
  there->size[e->block] = e->size;
}

static uint64_t go(struct there *there, uint32_t block)
{
  must(block >= 1 && block <= there->last && there->size[block] != UINT64_MAX);
  uint64_t size = there->size[block];
  there->size[block] = UINT64_MAX;
  return size;
}

static void check_event(const struct hak_process *p, const struct hak_event *e, struct there *there)
{
  must(e->thread < p->threads && e->site < p->sites);
  must(e->operation >= HAK_OP_ALLOC && e->operation <= HAK_OP_RESIZE && e->align_log < 64);
  must(e->old == 0 || (e->operation == HAK_OP_RESIZE && e->block != 0));
  if (e->operation == HAK_OP_FREE)
    must(go(there, e->block) == e->size);
  else if (e->old != 0)
    go(there, e->old);
  if (e->operation != HAK_OP_FREE)
    come(there, e);
}

static void check_process(const struct hak_process *p)
{
  struct there there = {calloc((size_t)p->blocks + 1, sizeof(uint64_t)), p->blocks, 0};
  must(p->command == NULL || p->command[p->command_bytes] == '\0');
  for (size_t i = 0; i < p->events; i++) {
    must(i == 0 || p->event[i].ns >= p->event[i - 1].ns);
    check_event(p, &p->event[i], &there);
  }
  must(there.last == p->blocks);
  must(p->modules == NULL || strlen(p->modules) < SIZE_MAX);
  free(there.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct hak_trace trace;
  char why[200];
  FILE *in = size == 0 ? fopen("/dev/null", "rb") : fmemopen((void *)(uintptr_t)data, size, "rb");
  must(in != NULL);
  bool good = hak_trace_read(in, &trace, why, sizeof why);
  must(good == (why[0] == '\0') && strchr(why, '\n') == NULL);
  for (size_t i = 0; i < trace.processes; i++)
    check_process(&trace.process[i]);
  hak_trace_drop(&trace);
  fclose(in);
  return 0;
}
