/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* live.c: hak_live, the bytes requested and not freed by the processes of a trace, over time.
 *
 *    hak_live [--step MS] < unpacked trace
 *
 * what      Writes a JSON object a line:
 *            process    pid, image and parent
 *            live       ns since the first event of the trace, and the mean of the bytes since the line before
 *           A `live` line covers a step of time (10 ms) with an event; over omitted steps the bytes stay as
 *           at the end of the line before. The last line of a process is the last event, with the live bytes after the
 *           event. A child of fork begins with its parent's live bytes at the fork: both have the pages.
 * failure   A line on stderr; exit status 2: an option, 1: no trace, no memory, or the lines cannot be written.
 * not here  Unpacking, and the ends of processes: the Python package of the laboratory.
 */
#include "events.h"
#include "json.h"
#include <getopt.h>
#include <stdlib.h>

enum { no_trace = 1, bad_usage = 2, ms_ns = 1000000 };

struct walk {
  uint64_t *size; /* by block; 0: not live */
  uint64_t live;
  uint64_t step_ns, began_ns; /* the current step: length and begin */
  uint64_t since_ns;          /* last change of `live` */
  double byte_ns;             /* sum over the current step */
};

/* ---- lines ---- */

static void put_live(uint64_t ns, double bytes, uint64_t now, size_t process)
{
  hak_json_begin("live", process);
  hak_json_count("ns", ns);
  hak_json_number("bytes", bytes);
  hak_json_count("then", now);
  hak_json_end();
}

static void end_step(struct walk *w, uint64_t at_ns, size_t process)
{
  w->byte_ns += (double)w->live * (double)(at_ns - w->since_ns);
  if (at_ns > w->began_ns) put_live(at_ns, w->byte_ns / (double)(at_ns - w->began_ns), w->live, process);
  w->byte_ns = 0;
  w->since_ns = at_ns;
  w->began_ns = at_ns;
}

/* Advances to the time of an event: at most two lines, as nothing changes in between. */
static void pass_time(struct walk *w, uint64_t ns, size_t process)
{
  uint64_t end = (w->began_ns / w->step_ns + 1) * w->step_ns;
  if (ns >= end) {
    end_step(w, end, process);
    uint64_t whole = ns / w->step_ns * w->step_ns;
    if (whole > end) end_step(w, whole, process);
  }
  w->byte_ns += (double)w->live * (double)(ns - w->since_ns);
  w->since_ns = ns;
}

/* ---- blocks ---- */

static void drop(struct walk *w, uint32_t block)
{
  w->live -= w->size[block];
  w->size[block] = 0;
}

static void take_event(struct walk *w, const struct hak_event *event)
{
  if (event->operation == HAK_OP_FREE) {
    drop(w, event->block);
    return;
  }
  if (event->block == 0) return;
  if (event->old != 0) drop(w, event->old);
  w->size[event->block] = event->size;
  w->live += event->size;
}

/* ---- processes ---- */

/* Live bytes of a process at a time, for the children. */
static uint64_t live_at(const struct hak_process *p, uint64_t ns)
{
  struct walk w = {.size = calloc((size_t)p->blocks + 1, sizeof *w.size)};
  if (w.size == NULL) return 0;
  for (size_t i = 0; i < p->events && p->event[i].ns <= ns; i++) take_event(&w, &p->event[i]);
  free(w.size);
  return w.live;
}

/* The parent's image that began last before the child's first event. */
static const struct hak_process *parent_of(const struct hak_trace *trace, const struct hak_process *child)
{
  const struct hak_process *found = NULL;
  for (size_t i = 0; child->parent != 0 && child->events != 0 && i < trace->processes; i++) {
    const struct hak_process *p = &trace->process[i];
    if (p != child && p->pid == child->parent && p->events != 0 && p->event[0].ns <= child->event[0].ns) found = p;
  }
  return found;
}

static uint64_t inherited(const struct hak_trace *trace, const struct hak_process *child)
{
  const struct hak_process *parent = parent_of(trace, child);
  if (parent == NULL) return 0;
  uint64_t begin = child->event[0].ns;
  return live_at(parent, begin) + inherited(trace, parent);
}

static void put_process(const struct hak_process *p, size_t number)
{
  hak_json_begin("process", number);
  hak_json_count("pid", p->pid);
  hak_json_count("image", p->image);
  hak_json_count("parent", p->parent);
  hak_json_count("lost", p->lost);
  hak_json_command("command", p->command, p->command_bytes);
  hak_json_end();
}

static bool put_curve(const struct hak_trace *trace, size_t number, uint64_t step_ns)
{
  const struct hak_process *p = &trace->process[number];
  struct walk w = {.step_ns = step_ns, .size = calloc((size_t)p->blocks + 1, sizeof *w.size)};
  if (w.size == NULL) return false;
  put_process(p, number);
  if (p->events != 0) {
    w.live = inherited(trace, p);
    w.began_ns = w.since_ns = p->event[0].ns;
    for (size_t i = 0; i < p->events; i++) {
      pass_time(&w, p->event[i].ns, number);
      take_event(&w, &p->event[i]);
    }
    end_step(&w, w.since_ns, number);
    put_live(w.since_ns, (double)w.live, w.live, number);
  }
  free(w.size);
  return true;
}

/* ---- the command ---- */

static int fail(const char *why)
{
  fprintf(stderr, "hak_live: %s\n", why);
  return no_trace;
}

static int put_trace(uint64_t step_ns)
{
  struct hak_trace trace;
  char why[256];
  if (!hak_trace_read(stdin, &trace, why, sizeof why)) return fail(why);
  for (size_t i = 0; i < trace.processes; i++) {
    if (!put_curve(&trace, i, step_ns)) return fail("out of memory");
  }
  hak_trace_drop(&trace);
  return fflush(stdout) != 0 || ferror(stdout) ? fail("the lines cannot be written") : 0;
}

int main(int count, char **arguments)
{
  static const struct option options[] = {{"step", required_argument, NULL, 's'}, {0}};
  uint64_t step_ms = 10;
  for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
    char *end;
    if (option != 's') return bad_usage;
    step_ms = strtoull(optarg, &end, 10);
    if (*end != '\0' || end == optarg || step_ms == 0) return fail("--step: not a number above 0"), bad_usage;
  }
  return put_trace(step_ms * ms_ns);
}
