/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* dump.c: a trace from standard input, as lines of text for the tests.
 *
 * what      A line for each process and each event, `read 0` or `read 1` with the reason at the end.
 */
#include "events.h"
#include <inttypes.h>

static void print_event(const struct hak_process *process, const struct hak_event *e)
{
  const struct hak_site *site = &process->site[e->site];
  printf("event ns=%" PRIu64 " thread=%u op=%u block=%u old=%u size=%" PRIu64 " align=%u took=%u site=%" PRIu64
         ",%" PRIu64 "\n",
         e->ns, e->thread, e->operation, e->block, e->old, e->size, e->align_log, e->took, site->address, site->depth);
}

static void print_process(const struct hak_process *p)
{
  printf("process pid=%u image=%u parent=%u threads=%u events=%zu sites=%u blocks=%u lost=%" PRIu64
         " implied=%" PRIu64 " unknown=%" PRIu64 " modules=%s command=",
         p->pid, p->image, p->parent, p->threads, p->events, p->sites, p->blocks, p->lost, p->implied, p->unknown,
         p->modules == NULL ? "" : p->modules);
  for (size_t i = 0; i < p->command_bytes; i++)
    putchar(p->command[i] == '\0' ? '|' : p->command[i]);
  putchar('\n');
}

int main(int argc, char **argv)
{
  struct hak_trace trace;
  char why[200];
  bool good = hak_trace_read(stdin, &trace, why, sizeof why);
  for (size_t i = 0; i < trace.processes; i++) {
    print_process(&trace.process[i]);
    for (size_t j = 0; argc == 1 && j < trace.process[i].events; j++)
      print_event(&trace.process[i], &trace.process[i].event[j]);
  }
  printf("read good=%d torn=%d why=%s\n", good, trace.torn, why);
  hak_trace_drop(&trace);
  return argc > 1 && argv[1][0] == '\0';
}
