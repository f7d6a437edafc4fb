/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* replay.c: hak_replay, which repeats the calls of a traced process on an allocator.
 *
 *    hak_replay [--touch all|first|none] [--rounds N] [--process K] [--pace real] [--sites] < UNPACKED
 *
 * what      Reads a trace (docs/guide/trace-format.md, without gzip) and makes the calls of one process on the malloc
 *           of this process: LD_PRELOAD chooses. K counts the processes from 1, in order of their records; without K,
 *           the process with the most events. Each new block is written to: a byte of each page, its first byte, or
 *           nothing. As fast as possible, or at the recorded times. With --sites each call is given its recorded call
 *           site, for an allocator that accepts sites (asker.h: libhakdoors.so).
 *           Each round writes a line of name=value pairs to standard output:
 *            process=1 of=1 pid=7 events=9 calls=9 skipped=0 threads=1 torn=0 round=1 wall_ns=1 cpu_ns=1 waited_ns=0
 *            minflt=1 before_kib=1 peak_kib=1 sampled=0 failed=0 lost=0 unknown=0
 *           calls: events carried out; skipped: calls that failed in the recording; waited_ns: part of cpu_ns, spent
 *           waiting for blocks of different threads; peak_kib: above the memory resident before the round; failed:
 *           allocations.
 * owner     The replay's own memory does not come from malloc: the trace is read into an arena, the plan lies in
 *           mappings.
 * failure   A line on stderr; exit status 2: not a trace, no such process, or bad usage; 1: the replay cannot go on.
 */
#define _GNU_SOURCE
#include "arena.h"
#include "crew.h"
#include "meter.h"
#include <dlfcn.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { bad_input = 2, why_bytes = 200, input_bytes = 1 << 16 };

struct order {
  enum touch touch;
  unsigned long rounds, process; /* process: 0: the process with the most events */
  bool paced, sites;
};

/* Facts of the trace for the lines, after the trace is dropped. */
struct facts {
  size_t process, processes, events;
  uint32_t pid;
  bool torn;
  uint64_t lost, unknown;
};

static _Noreturn __attribute__((format(printf, 1, 2))) void refuse_input(const char *format, ...)
{
  va_list values;
  va_start(values, format);
  fputs("hak_replay: ", stderr);
  vfprintf(stderr, format, values);
  fputc('\n', stderr);
  va_end(values);
  exit(bad_input);
}

static _Noreturn void refuse_usage(void)
{
  refuse_input("usage: hak_replay [--touch all|first|none] [--rounds N] [--process K] [--pace real] [--sites] "
               "< UNPACKED");
}

static unsigned long number_from(const char *text)
{
  char *end;
  unsigned long number = strtoul(text, &end, 10);
  if (*text < '1' || *text > '9' || *end != '\0')
    refuse_usage();
  return number;
}

static enum touch touch_from(const char *text)
{
  static const char *const names[] = {[touch_none] = "none", [touch_first] = "first", [touch_all] = "all"};
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(text, names[i]) == 0)
      return (enum touch)i;
  refuse_usage();
}

static struct order order_from(int argc, char **argv)
{
  static const struct option options[] = {
    {"touch", required_argument, NULL, 't'},
    {"rounds", required_argument, NULL, 'r'},
    {"process", required_argument, NULL, 'p'},
    {"pace", required_argument, NULL, 'x'},
    {"sites", no_argument, NULL, 's'},
    {0},
  };
  struct order order = {.touch = touch_all, .rounds = 1};
  opterr = 0;
  for (int found; (found = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    if (found == 't')
      order.touch = touch_from(optarg);
    else if (found == 'r')
      order.rounds = number_from(optarg);
    else if (found == 'p')
      order.process = number_from(optarg);
    else if (found == 'x' && strcmp(optarg, "real") == 0)
      order.paced = true;
    else if (found == 's')
      order.sites = true;
    else
      refuse_usage();
  }
  if (optind != argc)
    refuse_usage();
  return order;
}

static size_t chosen(const struct hak_trace *trace, unsigned long asked)
{
  size_t most = 0;
  if (trace->processes == 0)
    refuse_input("there is no process in this trace");
  if (asked > trace->processes)
    refuse_input("no process %lu in this trace; it has %zu", asked, trace->processes);
  for (size_t i = 1; i < trace->processes; i++)
    if (trace->process[i].events > trace->process[most].events)
      most = i;
  return asked == 0 ? most : asked - 1;
}

static void refuse_what_does_not_fit(const struct plan *plan, enum touch touch)
{
  uint64_t available = meter_available_kib();
  uint64_t needed = plan->most_live / 1024;
  if (plan->calls == 0)
    refuse_input("this process asked for nothing");
  if (touch == touch_all && available != 0 && needed > available)
    refuse_input("%" PRIu64 " MiB are live at the peak, and %" PRIu64 " MiB of memory are available: --touch first",
                 needed / 1024, available / 1024);
}

static struct facts read_plan(const struct order *order, struct plan *plan)
{
  static char buffer[input_bytes];
  struct hak_trace trace;
  char why[why_bytes];
  setvbuf(stdin, buffer, _IOFBF, sizeof buffer);
  if (!hak_trace_read(stdin, &trace, why, sizeof why))
    refuse_input("%s", why);
  size_t at = chosen(&trace, order->process);
  const struct hak_process *process = &trace.process[at];
  struct facts facts = {at + 1, trace.processes, process->events, process->pid,
                        trace.torn, process->lost, process->unknown};
  plan_make(process, order->paced, order->sites, plan);
  hak_arena_drop();
  return facts;
}

/* An allocator that accepts call sites exports this name. */
static crew_ask_as *ask_as_of_allocator(bool wanted)
{
  crew_ask_as *ask_as = NULL;
  void *found = wanted ? dlsym(RTLD_DEFAULT, "hak_ask_as") : NULL;
  memcpy(&ask_as, &found, sizeof ask_as);
  if (wanted && found == NULL)
    refuse_input("--sites: the allocator does not take call sites");
  return ask_as;
}

static void print_round(const struct facts *f, const struct plan *plan, unsigned long round,
                        const struct meter *used, const struct outcome *outcome)
{
  printf("process=%zu of=%zu pid=%u events=%zu calls=%zu skipped=%zu threads=%u torn=%d round=%lu wall_ns=%" PRIu64
         " cpu_ns=%" PRIu64 " waited_ns=%" PRIu64 " minflt=%" PRIu64 " before_kib=%" PRIu64
         " peak_kib=%" PRIu64 " sampled=%d failed=%" PRIu64 " lost=%" PRIu64 " unknown=%" PRIu64 "\n",
         f->process, f->processes, f->pid, f->events, plan->calls, plan->skipped, plan->starts, f->torn, round,
         used->wall_ns, used->cpu_ns, outcome->waited_ns, used->minflt, used->before_kib, used->peak_kib, used->sampled,
         outcome->failures, f->lost, f->unknown);
}

int main(int argc, char **argv)
{
  static char lines[BUFSIZ];
  struct order order = order_from(argc, argv);
  struct plan plan;
  struct facts facts = read_plan(&order, &plan);
  refuse_what_does_not_fit(&plan, order.touch);
  setvbuf(stdout, lines, _IOFBF, sizeof lines);
  crew_make(&plan, order.touch, ask_as_of_allocator(order.sites));
  for (unsigned long round = 1; round <= order.rounds; round++) {
    struct meter used;
    meter_start(&used);
    struct outcome outcome = crew_run();
    meter_stop(&used);
    print_round(&facts, &plan, round, &used, &outcome);
    if (round < order.rounds)
      crew_clear();
  }
  return fflush(stdout) == 0 ? 0 : 1;
}
