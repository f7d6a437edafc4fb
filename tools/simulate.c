/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* simulate.c: hak_simulate, the cost of keep-time policies for the programs of a trace.
 *
 *    hak_simulate [--price N] [--call-ns N] [--page-ns N] [--least BYTES] [--bins N] [--many N] < unpacked trace
 *
 * what      Writes a JSON object a line; for every process in order:
 *            process    command, events, blocks and gaps; no further lines for a process without gaps
 *            policy     outcome of a policy; ratio: to the clairvoyant, regret: to the best fixed policy
 *            regret     cost paid by the learner in groups with many gaps, and in the rest; evolve.h
 *            frontier   points of memory and fetching of the clairvoyant, the baseline and the best policies
 *            headroom   memory of a policy at the baseline's fetching, and fetching at the baseline's memory
 *           The last line is the trace: whether the file ended inside a record. An unknown figure is null.
 * failure   A line on stderr; exit status 2: an option, 1: no trace, no memory, or the lines cannot be written.
 * not here  Unpacking, tables, plots: the Python command `hakmem-lab simulate`.
 */
#include "evolve.h"
#include "json.h"
#include "policies.h"
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { no_trace = 1, bad_usage = 2 };

struct order {
  struct hak_tariff tariff;
  struct hak_cut cut;
  uint64_t many; /* least number of gaps of a busy site */
};

/* ---- the ladder ---- */

static const struct named_arm {
  const char *name;
  struct hak_arm arm;
} ladder[] = {
    {"0", {false, 0}},         {"1/8", {false, 0.125}},   {"1/4", {false, 0.25}},   {"1/2", {false, 0.5}},
    {"1", {false, 1}},         {"2", {false, 2}},         {"4", {false, 4}},        {"8", {false, 8}},
    {"forever", {true, 1e30}}, {"1 ms", {true, 1e6}},     {"10 ms", {true, 1e7}},   {"100 ms", {true, 1e8}},
    {"1 s", {true, 1e9}},      {"10 s", {true, 1e10}},
};
enum { arms = sizeof ladder / sizeof *ladder, break_even = 4 };

static void fill_arms(struct hak_arm *arm)
{
  for (int i = 0; i < arms; i++) arm[i] = ladder[i].arm;
}

/* ---- lines ---- */

static uint64_t duration(const struct hak_process *process)
{
  return process->events == 0 ? 0 : process->event[process->events - 1].ns - process->event[0].ns;
}

static void say_process(const struct hak_process *process, size_t number, const struct hak_gaps *gaps, uint64_t busy)
{
  size_t open = 0;
  for (size_t i = 0; i < gaps->gaps; i++) open += gaps->gap[i].open;
  hak_json_begin("process", number);
  hak_json_count("pid", process->pid);
  hak_json_count("image", process->image);
  hak_json_count("parent", process->parent);
  hak_json_command("command", process->command, process->command_bytes);
  hak_json_count("threads", process->threads);
  hak_json_count("events", process->events);
  hak_json_count("ns", duration(process));
  hak_json_count("lost", process->lost);
  hak_json_count("implied", process->implied);
  hak_json_count("unknown", process->unknown);
  hak_json_count("blocks", gaps->blocks);
  hak_json_count("first_fetches", gaps->first);
  hak_json_count("gaps", gaps->gaps);
  hak_json_count("busy", busy);
  hak_json_count("open", open);
  hak_json_count("groups", gaps->groups);
  hak_json_end();
}

/* References for all policies of a process. */
struct yardstick {
  const struct hak_tariff *tariff;
  double clairvoyant, best_fixed;
};

/* 0 / 0 is 1: equal costs. */
static double quotient(double one, double other)
{
  return one == other ? 1 : one / other;
}

static void say_policy(size_t process, const char *name, const char *keep, const struct yardstick *by,
                       struct hak_outcome outcome)
{
  double cost = hak_cost(by->tariff, &outcome);
  hak_json_begin("policy", process);
  printf(",\"policy\":\"%s\",\"keep\":\"%s\"", name, keep);
  hak_json_number("cost_ns", cost);
  hak_json_number("idle_mib_s", outcome.idle);
  hak_json_number("fetch_ns", outcome.fetch_ns);
  hak_json_count("fetches", outcome.fetches);
  hak_json_count("faults", outcome.pages);
  hak_json_count("kernel_calls", outcome.fetches + outcome.drops);
  hak_json_count("hits", outcome.hits);
  hak_json_number("ratio", quotient(cost, by->clairvoyant));
  hak_json_number("regret", quotient(cost, by->best_fixed));
  hak_json_end();
}

static struct yardstick say_policies(size_t process, const struct order *order, const struct hak_gaps *gaps,
                                     const struct hak_verdicts *verdicts)
{
  const struct hak_tariff *tariff = &order->tariff;
  struct hak_outcome ideal = hak_clairvoyant(gaps, tariff, 1), fixed = hak_best(verdicts, tariff, HAK_FOR_ALL, 1);
  struct yardstick by = {tariff, hak_cost(tariff, &ideal), hak_cost(tariff, &fixed)};
  size_t best = hak_best_arm(verdicts, tariff, 1);
  say_policy(process, "clairvoyant", "", &by, ideal);
  say_policy(process, "baseline", ladder[break_even].name, &by, verdicts->outcome[HAK_FOR_ALL][break_even]);
  for (size_t i = 0; i < arms; i++)
    say_policy(process, "fixed", ladder[i].name, &by, verdicts->outcome[HAK_FOR_ALL][i]);
  say_policy(process, "best fixed", ladder[best].name, &by, fixed);
  say_policy(process, "by size", "", &by, hak_best(verdicts, tariff, HAK_FOR_BIN, 1));
  say_policy(process, "by busy site", "", &by, hak_best(verdicts, tariff, HAK_FOR_BUSY, 1));
  say_policy(process, "by site", "", &by, hak_best(verdicts, tariff, HAK_FOR_SITE, 1));
  return by;
}

/* ---- learners ---- */

static const char *const by_names[HAK_BYS] = {
    [HAK_BY_PROCESS] = "evolving by process", [HAK_BY_SIZE] = "evolving by size", [HAK_BY_SITE] = "evolving"};

static void say_share(size_t process, const char *policy, const char *of, const struct hak_share *share)
{
  hak_json_begin("regret", process);
  printf(",\"policy\":\"%s\",\"of\":\"%s\"", policy, of);
  hak_json_count("rows", share->rows);
  hak_json_count("gaps", share->gaps);
  hak_json_number("paid_ns", share->paid);
  hak_json_number("best_ns", share->best);
  hak_json_number("clairvoyant_ns", share->clairvoyant);
  hak_json_end();
}

static bool say_one_who_learns(size_t process, const struct order *order, const struct hak_gaps *gaps,
                               const struct hak_evolved *evolved, enum hak_by by, const struct yardstick *yardstick)
{
  static const uint64_t start = 0;
  struct hak_regret regret;
  if (!hak_regret_of(gaps, &order->tariff, evolved, by, &start, 1, &regret)) return false;
  say_policy(process, by_names[by], "", yardstick, hak_evolved_outcome(gaps, &order->tariff, evolved->arm[by]));
  say_share(process, by_names[by], "many", &regret.many);
  say_share(process, by_names[by], "few", &regret.few);
  return true;
}

static bool say_who_learns(size_t process, const struct order *order, const struct hak_gaps *gaps,
                           const struct yardstick *yardstick)
{
  struct hak_evolved evolved;
  if (!hak_evolve(gaps, &order->tariff, &evolved)) return false;
  bool said = true;
  for (int by = HAK_BYS - 1; said && by >= 0; by--)
    said = say_one_who_learns(process, order, gaps, &evolved, (enum hak_by)by, yardstick);
  hak_evolved_drop(&evolved);
  return said;
}

static void say_frontier(size_t process, const char *name, const struct hak_policy *policy)
{
  enum { halves = 16 };
  for (int half = -halves; half <= halves; half++) {
    struct hak_outcome point = hak_policy_at(policy, exp2(half / 2.0));
    hak_json_begin("frontier", process);
    printf(",\"policy\":\"%s\"", name);
    hak_json_number("weight", exp2(half / 2.0));
    hak_json_number("idle_mib_s", point.idle);
    hak_json_number("fetch_ns", point.fetch_ns);
    hak_json_end();
  }
}

static void say_headroom(size_t process, const char *name, const struct hak_policy *policy,
                         const struct hak_outcome *base)
{
  hak_json_begin("headroom", process);
  printf(",\"policy\":\"%s\"", name);
  hak_json_number("idle_mib_s", hak_idle_at_equal_fetching(policy, base));
  hak_json_number("fetch_ns", hak_fetching_at_equal_idle(policy, base));
  hak_json_end();
}

static void say_room(size_t process, const struct order *order, const struct hak_gaps *gaps,
                     const struct hak_verdicts *verdicts)
{
  static const char *const names[] = {
      [HAK_CLAIRVOYANT] = "clairvoyant", [HAK_BASELINE] = "baseline", [HAK_BEST_FOR_ALL] = "best fixed",
      [HAK_BEST_BY_BIN] = "by size", [HAK_BEST_BY_BUSY] = "by busy site", [HAK_BEST_BY_SITE] = "by site"};
  const struct hak_outcome *base = &verdicts->outcome[HAK_FOR_ALL][break_even];
  for (int kind = 0; kind < HAK_KINDS; kind++) {
    struct hak_policy policy = {(enum hak_kind)kind, gaps, &order->tariff, verdicts};
    say_frontier(process, names[kind], &policy);
    if (kind != HAK_BASELINE) say_headroom(process, names[kind], &policy, base);
  }
}

/* ---- the whole ---- */

static int fail(const char *why)
{
  fprintf(stderr, "hak_simulate: %s\n", why);
  return no_trace;
}

static bool judge(const struct hak_process *process, size_t number, const struct order *order,
                  const struct hak_gaps *gaps)
{
  struct hak_arm arm[arms];
  struct hak_ladder all = {arm, arms, order->cut.bins, order->many};
  struct hak_verdicts verdicts;
  fill_arms(arm);
  if (!hak_verdicts_make(gaps, &order->tariff, &all, &verdicts)) return false;
  say_process(process, number, gaps, verdicts.busy);
  struct yardstick by = say_policies(number, order, gaps, &verdicts);
  bool said = say_who_learns(number, order, gaps, &by);
  if (said) say_room(number, order, gaps, &verdicts);
  hak_verdicts_drop(&verdicts);
  return said;
}

static bool simulate(const struct hak_process *process, size_t number, const struct order *order)
{
  struct hak_gaps gaps;
  if (!hak_gaps_collect(process, order->cut, &gaps)) return false;
  if (gaps.gaps == 0) say_process(process, number, &gaps, 0);
  bool done = gaps.gaps == 0 || judge(process, number, order, &gaps);
  hak_gaps_drop(&gaps);
  return done;
}

static int simulate_all(const struct order *order)
{
  struct hak_trace trace;
  char why[200] = "";
  bool done = hak_trace_read(stdin, &trace, why, sizeof why);
  if (!done) {
    hak_trace_drop(&trace);
    return fail(why);
  }
  for (size_t i = 0; done && i < trace.processes; i++) done = simulate(&trace.process[i], i, order);
  if (done)
    printf("{\"kind\":\"trace\",\"processes\":%zu,\"torn\":%s}\n", trace.processes, trace.torn ? "true" : "false");
  hak_trace_drop(&trace);
  if (!done) return fail("out of memory");
  return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : fail(strerror(errno));
}

/* ---- options ---- */

enum { opt_price, opt_call_ns, opt_page_ns, opt_least, opt_bins, opt_many };

static const struct option options[] = {
    {"price", required_argument, NULL, opt_price}, {"call-ns", required_argument, NULL, opt_call_ns},
    {"page-ns", required_argument, NULL, opt_page_ns}, {"least", required_argument, NULL, opt_least},
    {"bins", required_argument, NULL, opt_bins}, {"many", required_argument, NULL, opt_many}, {0},
};

static bool number_of(const char *text, double least, double most, double *out)
{
  char *stop;
  double value = strtod(text, &stop);
  if (stop == text || *stop != '\0' || !(value >= least && value <= most)) return false;
  *out = value;
  return true;
}

static bool take_option(struct order *order, int option, const char *text)
{
  double *const cost[] = {&order->tariff.price, &order->tariff.call_ns, &order->tariff.page_ns};
  double value;
  if (option <= opt_page_ns) return number_of(text, 0, 1e12, cost[option]);
  if (!number_of(text, 1, option == opt_bins ? HAK_BINS_MOST : 1e15, &value) || value != floor(value)) return false;
  if (option == opt_least) order->cut.least = (uint64_t)value;
  if (option == opt_bins) order->cut.bins = (uint32_t)value;
  if (option == opt_many) order->many = (uint64_t)value;
  return true;
}

int main(int argc, char **argv)
{
  struct order order = {{640000, 2000, 1000}, {65536, 4, true}, 100};
  for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    if (option != '?' && take_option(&order, option, optarg)) continue;
    if (option != '?') fprintf(stderr, "hak_simulate: --%s %s: no such value\n", options[option].name, optarg);
    return bad_usage;
  }
  if (optind < argc) {
    fprintf(stderr, "hak_simulate: the trace is read from standard input, not from %s\n", argv[optind]);
    return bad_usage;
  }
  return simulate_all(&order);
}
