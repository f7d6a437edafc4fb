/* model.c: hak_model, which says what a process of a trace would have of its kernel on HAKMEM.
 *
 *     hak_model [--process K] < UNPACKED
 *
 * what      Makes the calls of one process in their recorded order, at their recorded times, of the library's own code
 *           (it is linked in), which stands on a kernel that is invented (kernel.h): blocks are never written to, it is
 *           only noted which pages would be. Each block that comes is touched as hak_replay --touch all does it. K as
 *           there.
 *           Writes a line of JSON: peak_pages and faults, of these the library's own; the helper's steps; and how often
 *           each slow door was passed (doors.h). Settings come from the environment, as they do to the library.
 * failure   One line on standard error; 2: no trace, or no such process, or bad usage; 1: no memory.
 * not here  The rerun that it is measured by: replay.c on libhakdoors.so. Both: the command `hakmem predict`.
 */
#include "asker.h"
#include "doors.h"
#include "events.h"
#include "front/front.h"
#include "front/helper.h"
#include "json.h"
#include "kernel.h"
#include "lanes.h"
#include "os/costs.h"
#include "os/limits.h"
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { bad_input = 2, why_bytes = 200, page_bytes = 4096, least_align = sizeof(void *), first_block = 64 };

static _Noreturn __attribute__((format(printf, 2, 3))) void refuse(int status, const char *format, ...)
{
  va_list values;
  va_start(values, format);
  fputs("hak_model: ", stderr);
  vfprintf(stderr, format, values);
  fputc('\n', stderr);
  va_end(values);
  exit(status);
}

/* ---- what the library would ask of the machine ---- */

/* No limit is set, and nobody waits for memory. */
bool hak_limits_start(const char *folder)
{
  (void)folder;
  return false;
}

bool hak_limits_start_from(const char *usual, const char *cgroup, const char *mountinfo)
{
  (void)usual, (void)cgroup, (void)mountinfo;
  return false;
}

void hak_limits_read(struct hak_limits *out)
{
  *out = (struct hak_limits){.memory_bytes = HAK_LIMITS_NONE, .cpus = 1};
}

/* Costs are those that are set, or the first guess. */
bool hak_os_measure(struct hak_os_costs *out)
{
  (void)out;
  return false;
}

/* ---- calls ---- */

static void **blocks;

static __attribute__((noinline)) void *ask(size_t size)
{
  return hak_front_malloc(size);
}

static __attribute__((noinline)) void *ask_zeroed(size_t size)
{
  return hak_front_calloc(1, size);
}

static __attribute__((noinline)) void *ask_again(void *block, size_t size)
{
  return hak_front_realloc(block, size);
}

static __attribute__((noinline)) void give_back(void *block)
{
  hak_front_free(block);
}

static void *ask_aligned(const struct hak_event *e)
{
  size_t align = (size_t)1 << e->align_log;
  return hak_front_memalign(align < least_align ? least_align : align, e->size, __builtin_return_address(0));
}

static void *taken(uint32_t number)
{
  void *block = blocks[number];
  blocks[number] = NULL;
  return block;
}

static void *made(const struct hak_event *e)
{
  switch (e->operation) {
  case HAK_OP_ALLOC:
    return ask(e->size);
  case HAK_OP_CALLOC:
    return ask_zeroed(e->size);
  case HAK_OP_ALIGNED:
    return ask_aligned(e);
  default:
    return e->old == 0 ? ask(e->size) : ask_again(taken(e->old), e->size);
  }
}

/* As crew.c does. */
static void touch(const void *block, size_t size)
{
  if (block == NULL || size == 0)
    return;
  kernel_touch(block, size <= page_bytes ? 1 : size);
}

static void carry_out(const struct hak_event *e)
{
  if (e->operation == HAK_OP_FREE) {
    give_back(taken(e->block));
    return;
  }
  void *block = made(e);
  touch(block, e->size);
  blocks[e->block] = block;
}

/* ---- a process ---- */

/* The last call of each thread. */
static size_t *last_calls(const struct hak_process *process)
{
  size_t *last = calloc(process->threads, sizeof *last);
  if (last == NULL)
    refuse(1, "out of memory");
  for (size_t i = 0; i < process->events; i++)
    if (process->event[i].block != 0)
      last[process->event[i].thread] = i;
  return last;
}

static void *resident(size_t bytes)
{
  void *room = malloc(bytes);
  if (room == NULL)
    refuse(1, "out of memory");
  return memset(room, 0, bytes);
}

/* Where libc's names are the library's, its first block has come and gone before a program runs. */
static void begin_library(uint32_t threads)
{
  hak_helper_allow();
  give_back(ask(first_block));
  lanes_make(threads);
}

static size_t run(const struct hak_process *process)
{
  size_t *last = last_calls(process), calls = 0;
  blocks = resident(((size_t)process->blocks + 1) * sizeof *blocks);
  begin_library(process->threads);
  kernel_start();
  for (size_t i = 0; i < process->events; i++) {
    const struct hak_event *e = &process->event[i];
    if (e->block == 0)
      continue;
    uint64_t ns = e->ns - process->event[0].ns;
    lanes_let_helper_run(ns);
    kernel_set_clock(ns);
    lanes_enter(e->thread);
    hak_ask_as(process->site[e->site].address, process->site[e->site].depth);
    carry_out(e);
    if (last[e->thread] == i && e->thread != 0)
      lanes_end();
    kernel_look();
    calls++;
  }
  free(last);
  return calls;
}

static void say(const struct hak_process *process, size_t number, size_t calls)
{
  struct kernel_work work = kernel_stop();
  hak_json_begin("model", number);
  hak_json_count("pid", process->pid);
  hak_json_count("events", process->events);
  hak_json_count("calls", calls);
  hak_json_count("threads", process->threads);
  hak_json_count("peak_kib", work.peak_pages * (page_bytes / 1024));
  hak_json_count("own_peak_kib", work.own_peak_pages * (page_bytes / 1024));
  hak_json_count("minflt", work.faults);
  hak_json_count("own_minflt", work.own_faults);
  hak_json_count("helper_steps", lanes_helper_steps());
  for (unsigned row = 0; doors_name(row) != NULL; row++)
    hak_json_count(doors_name(row), doors_passed(row));
  hak_json_end();
}

/* ---- the whole ---- */

static unsigned long process_from(int argc, char **argv)
{
  static const struct option options[] = {{"process", required_argument, NULL, 'p'}, {0}};
  unsigned long number = 0;
  char *end = "";
  opterr = 0;
  for (int found; (found = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    number = found == 'p' ? strtoul(optarg, &end, 10) : 0;
    if (number == 0 || *end != '\0')
      optind = argc + 1;
  }
  if (optind != argc)
    refuse(bad_input, "usage: hak_model [--process K] < UNPACKED");
  return number;
}

/* As hak_replay chooses. */
static size_t chosen(const struct hak_trace *trace, unsigned long asked)
{
  size_t most = 0;
  if (trace->processes == 0)
    refuse(bad_input, "there is no process in this trace");
  if (asked > trace->processes)
    refuse(bad_input, "there are %zu processes in this trace, no process %lu", trace->processes, asked);
  for (size_t i = 1; i < trace->processes; i++)
    if (trace->process[i].events > trace->process[most].events)
      most = i;
  return asked == 0 ? most : asked - 1;
}

int main(int argc, char **argv)
{
  struct hak_trace trace;
  char why[why_bytes];
  unsigned long asked = process_from(argc, argv);
  if (!hak_trace_read(stdin, &trace, why, sizeof why))
    refuse(bad_input, "%s", why);
  size_t number = chosen(&trace, asked);
  const struct hak_process *process = &trace.process[number];
  if (process->blocks == 0)
    refuse(bad_input, "this process asked for nothing");
  say(process, number + 1, run(process));
  hak_trace_drop(&trace);
  return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
