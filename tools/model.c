/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* model.c: hak_model, the kernel work and memory of a traced process on HAKMEM, modelled.
 *
 *    hak_model [--process K] [--by-site BYTES] < UNPACKED
 *
 * what      Makes the calls of one process in recorded order, at recorded times, with the library's own code (linked
 *           in) on a modelled kernel (kernel.h): blocks are never written, only the pages that would be written are
 *           noted. Each new block is touched as by hak_replay --touch all. K as in hak_replay.
 *           Writes a line of JSON: the peak, the mean over the recorded time, and page faults; the library's share of
 *           these; the background thread's steps; and the counts of the slow paths (doors.h). Settings come from the
 *           environment, as for the library.
 *           --by-site: for every process, unless K is given, and before its line a line for each call site that
 *           requested blocks of at least BYTES (by_site.h). Each process is modelled in a child, as the library has
 *           one heap.
 * failure   A line on stderr; exit status 2: no trace, no such process or bad usage; 1: no memory.
 * not here  The real rerun to check the model: replay.c on libhakdoors.so. Both: the command `hakmem-lab predict`.
 */
#include "asker.h"
#include "by_site.h"
#include "doors.h"
#include "entry/fast_path.h"
#include "events.h"
#include "json.h"
#include "kernel.h"
#include "lanes.h"
#include "os/costs.h"
#include "os/limits.h"
#include "reclaim/background_thread.h"
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* ---- the library's questions to the machine ---- */

/* No limit is set, and memory is not short. */
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

bool hak_limits_read(struct hak_limits *out)
{
  *out = (struct hak_limits){.memory_bytes = HAK_LIMITS_NONE, .cpus = 1};
  return true;
}

/* Costs come from the settings, or are the first guess. */
bool hak_os_measure(struct hak_os_costs *out)
{
  (void)out;
  return false;
}

/* ---- calls ---- */

static void **blocks;

static __attribute__((noinline)) void *ask(size_t size)
{
  return hak_fast_malloc(size);
}

static __attribute__((noinline)) void *ask_zeroed(size_t size)
{
  return hak_fast_calloc(1, size);
}

static __attribute__((noinline)) void *ask_again(void *block, size_t size)
{
  return hak_fast_realloc(block, size);
}

static __attribute__((noinline)) void give_back(void *block)
{
  hak_fast_free(block);
}

static void *ask_aligned(const struct hak_event *e)
{
  size_t align = (size_t)1 << e->align_log;
  return hak_slow_memalign(align < least_align ? least_align : align, e->size, __builtin_return_address(0));
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

/* As in crew.c. */
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

static void carry_out_for_site(const struct hak_event *e)
{
  by_site_begin();
  carry_out(e);
  if (blocks[e->block] != NULL)
    by_site_end(e);
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

/* As in a real process, where libc's start allocates and frees the library's first block before main. */
static void begin_library(uint32_t threads)
{
  hak_background_allow();
  give_back(ask(first_block));
  lanes_make(threads);
}

static size_t run(const struct hak_process *process, bool by_site)
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
    if (by_site)
      carry_out_for_site(e);
    else
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
  hak_json_count("mean_kib", work.mean_pages * (page_bytes / 1024));
  hak_json_count("ns", process->event[process->events - 1].ns - process->event[0].ns);
  hak_json_count("minflt", work.faults);
  hak_json_count("own_minflt", work.own_faults);
  hak_json_count("helper_steps", lanes_helper_steps());
  for (unsigned row = 0; doors_name(row) != NULL; row++)
    hak_json_count(doors_name(row), doors_passed(row));
  hak_json_end();
}

/* ---- the whole ---- */

struct order {
  unsigned long process; /* 0: not given */
  bool by_site;
  uint64_t least;
};

/* False: not a number above 0. */
static bool read_number(const char *text, uint64_t *out)
{
  char *end;
  *out = strtoull(text, &end, 10);
  return *out != 0 && *end == '\0' && *text != '-';
}

static struct order order_from(int argc, char **argv)
{
  static const struct option options[] = {
    {"process", required_argument, NULL, 'p'}, {"by-site", required_argument, NULL, 's'}, {0}};
  struct order order = {0};
  bool right = true;
  opterr = 0;
  for (int found; right && (found = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    order.by_site |= found == 's';
    right = found != '?' && read_number(optarg, found == 's' ? &order.least : &order.process);
  }
  if (!right || optind != argc)
    refuse(bad_input, "usage: hak_model [--process K] [--by-site BYTES] < UNPACKED");
  return order;
}

/* As in hak_replay. */
static size_t chosen(const struct hak_trace *trace, unsigned long asked)
{
  size_t most = 0;
  if (trace->processes == 0)
    refuse(bad_input, "there is no process in this trace");
  if (asked > trace->processes)
    refuse(bad_input, "no process %lu in this trace; it has %zu", asked, trace->processes);
  for (size_t i = 1; i < trace->processes; i++)
    if (trace->process[i].events > trace->process[most].events)
      most = i;
  return asked == 0 ? most : asked - 1;
}

static void model_one(const struct hak_trace *trace, size_t number, const struct order *order)
{
  const struct hak_process *process = &trace->process[number];
  if (process->blocks == 0)
    refuse(bad_input, "this process asked for nothing");
  if (order->by_site && !by_site_make(process, order->least))
    refuse(1, "out of memory");
  size_t calls = run(process, order->by_site);
  if (order->by_site)
    by_site_put(process, number + 1);
  say(process, number + 1, calls);
  if (fflush(stdout) != 0 || ferror(stdout))
    refuse(1, "the lines cannot be written");
}

/* A failed child ends the whole, after the child's own message; only a signal needs a message here. */
static void model_in_child(const struct hak_trace *trace, size_t number, const struct order *order)
{
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    model_one(trace, number, order);
    _exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) < 0)
    refuse(1, "no process could be made");
  if (WIFSIGNALED(status))
    refuse(1, "the model of process %zu was ended by signal %d", number + 1, WTERMSIG(status));
  if (status != 0)
    exit(WEXITSTATUS(status));
}

static void model_all(const struct hak_trace *trace, const struct order *order)
{
  for (size_t i = 0; i < trace->processes; i++)
    if (trace->process[i].blocks != 0)
      model_in_child(trace, i, order);
}

int main(int argc, char **argv)
{
  struct hak_trace trace;
  char why[why_bytes];
  struct order order = order_from(argc, argv);
  if (!hak_trace_read(stdin, &trace, why, sizeof why))
    refuse(bad_input, "%s", why);
  if (order.by_site && order.process == 0)
    model_all(&trace, &order);
  else
    model_one(&trace, chosen(&trace, order.process), &order);
  hak_trace_drop(&trace);
  return 0;
}
