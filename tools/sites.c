/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sites.c: hak_sites, the call sites of a trace and the fate of their blocks.
 *
 *    hak_sites [--least BYTES] [--most N] < unpacked trace
 *
 * what      Writes a JSON object a line; for every process in order:
 *            process    command, calls, and the executable mappings of the modules
 *            site       an address and a depth of the stack, for blocks of at least BYTES: number and sizes of the
 *                       blocks, peak and final live bytes, life times, number and length of the waits until a freed
 *                       block was requested again (reused last in, first out, by size)
 *            rest       for a process with more than N sites: number and sums of all sites but the N with the
 *                       highest peak
 *           The last line is the trace: whether the file ended inside a record.
 * failure   A line on stderr; exit status 2: an option, 1: no trace, no memory, or the lines cannot be written.
 * not here  Unpacking, names, tables: the Python command `hakmem sites`.
 */
#define _GNU_SOURCE
#include "gaps.h"
#include "json.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { no_trace = 1, bad_usage = 2, bins = 4 };

struct wishes {
  uint64_t least; /* [bytes] smallest block that counts */
  uint64_t most;  /* number of lines for a process */
};

struct account {
  uint64_t count, bytes, least, most;
  uint64_t live, live_bytes, peak_bytes;
  uint64_t freed, life_ns;
  uint64_t gaps, gap_ns;
};

struct holding {
  uint64_t since_ns, size;
  uint32_t site;
  bool counts;
};

struct walk {
  struct account *account; /* by site */
  struct holding *holding; /* by block */
  uint64_t least;
};

/* ---- blocks ---- */

static void came(struct walk *w, uint32_t block, const struct hak_event *event)
{
  struct account *a = &w->account[event->site];
  bool counts = event->size >= w->least;
  w->holding[block] = (struct holding){event->ns, event->size, event->site, counts};
  if (!counts) return;
  a->least = a->count == 0 || event->size < a->least ? event->size : a->least;
  a->most = event->size > a->most ? event->size : a->most;
  a->count++;
  a->bytes += event->size;
  a->live++;
  a->live_bytes += event->size;
  if (a->live_bytes > a->peak_bytes) a->peak_bytes = a->live_bytes;
}

static void went(struct walk *w, uint32_t block, uint64_t ns)
{
  struct holding *h = &w->holding[block];
  struct account *a = &w->account[h->site];
  if (!h->counts) return;
  h->counts = false;
  a->live--;
  a->live_bytes -= h->size;
  a->freed++;
  a->life_ns += ns - h->since_ns;
}

static void take_event(struct walk *w, const struct hak_event *event)
{
  if (event->operation == HAK_OP_FREE) {
    went(w, event->block, event->ns);
    return;
  }
  if (event->block == 0) return;
  if (event->old != 0) went(w, event->old, event->ns);
  came(w, event->block, event);
}

/* ---- gaps ---- */

static bool add_gaps(struct walk *w, const struct hak_process *process)
{
  struct hak_gaps gaps;
  if (!hak_gaps_collect(process, (struct hak_cut){.least = w->least, .bins = bins}, &gaps)) return false;
  for (size_t i = 0; i < gaps.gaps; i++) {
    const struct hak_gap *gap = &gaps.gap[i];
    struct account *a = &w->account[gaps.group[gap->group].site];
    if (gap->open) continue;
    a->gaps++;
    a->gap_ns += gap->ns;
  }
  hak_gaps_drop(&gaps);
  return true;
}

/* ---- lines ---- */

static void put_process(const struct hak_process *p, size_t number)
{
  hak_json_begin("process", number);
  hak_json_count("pid", p->pid);
  hak_json_count("events", p->events);
  hak_json_count("lost", p->lost);
  hak_json_command("command", p->command, p->command_bytes);
  hak_json_text("modules", p->modules, p->modules != NULL ? strlen(p->modules) : 0);
  hak_json_end();
}

static void put_account(const struct account *a)
{
  hak_json_count("count", a->count);
  hak_json_count("bytes", a->bytes);
  hak_json_count("least", a->least);
  hak_json_count("most", a->most);
  hak_json_count("live", a->live);
  hak_json_count("live_bytes", a->live_bytes);
  hak_json_count("peak_bytes", a->peak_bytes);
  hak_json_count("freed", a->freed);
  hak_json_count("life_ns", a->life_ns);
  hak_json_count("gaps", a->gaps);
  hak_json_count("gap_ns", a->gap_ns);
  hak_json_end();
}

static void put_site(const struct hak_site *site, const struct account *a, size_t number)
{
  hak_json_begin("site", number);
  hak_json_count("address", site->address);
  hak_json_count("depth", site->depth);
  put_account(a);
}

static void add(struct account *sum, const struct account *a)
{
  if (sum->count == 0 || a->least < sum->least) sum->least = a->least;
  if (a->most > sum->most) sum->most = a->most;
  sum->count += a->count;
  sum->bytes += a->bytes;
  sum->live += a->live;
  sum->live_bytes += a->live_bytes;
  sum->peak_bytes += a->peak_bytes;
  sum->freed += a->freed;
  sum->life_ns += a->life_ns;
  sum->gaps += a->gaps;
  sum->gap_ns += a->gap_ns;
}

static void put_rest(const struct walk *w, const uint32_t *site, size_t sites, size_t number)
{
  struct account sum = {0};
  for (size_t i = 0; i < sites; i++) add(&sum, &w->account[site[i]]);
  hak_json_begin("rest", number);
  hak_json_count("sites", sites);
  put_account(&sum);
}

/* ---- the largest ---- */

/* Order by peak, then by bytes, then by number. */
static int larger_first(const void *one, const void *other, void *accounts)
{
  const struct account *account = accounts;
  uint32_t i = *(const uint32_t *)one, j = *(const uint32_t *)other;
  const struct account *a = &account[i], *b = &account[j];
  if (a->peak_bytes != b->peak_bytes) return a->peak_bytes > b->peak_bytes ? -1 : 1;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return i < j ? -1 : i > j;
}

/* Lists the sites that have blocks. */
static size_t some_sites(const struct walk *w, uint32_t *site, uint32_t sites)
{
  size_t found = 0;
  for (uint32_t i = 0; i < sites; i++)
    if (w->account[i].count != 0) site[found++] = i;
  return found;
}

static bool put_largest(const struct walk *w, const struct hak_process *p, size_t number, uint64_t most)
{
  uint32_t *site = calloc((size_t)p->sites + 1, sizeof *site);
  if (site == NULL) return false;
  size_t sites = some_sites(w, site, p->sites);
  size_t shown = sites < most ? sites : (size_t)most;
  if (shown < sites) qsort_r(site, sites, sizeof *site, larger_first, w->account);
  for (size_t i = 0; i < shown; i++) put_site(&p->site[site[i]], &w->account[site[i]], number);
  if (shown < sites) put_rest(w, site + shown, sites - shown, number);
  free(site);
  return true;
}

static bool account_for(const struct hak_process *p, size_t number, struct walk *w, uint64_t most)
{
  for (size_t i = 0; i < p->events; i++) take_event(w, &p->event[i]);
  if (!add_gaps(w, p)) return false;
  put_process(p, number);
  return put_largest(w, p, number, most);
}

static bool put_sites(const struct hak_process *p, size_t number, const struct wishes *wishes)
{
  struct walk w = {.least = wishes->least};
  w.account = calloc(p->sites + 1, sizeof *w.account);
  w.holding = calloc((size_t)p->blocks + 1, sizeof *w.holding);
  bool ok = w.account != NULL && w.holding != NULL && account_for(p, number, &w, wishes->most);
  free(w.account);
  free(w.holding);
  return ok;
}

/* ---- the command ---- */

static int fail(const char *why)
{
  fprintf(stderr, "hak_sites: %s\n", why);
  return no_trace;
}

static int put_trace(const struct wishes *wishes)
{
  struct hak_trace trace;
  char why[256];
  if (!hak_trace_read(stdin, &trace, why, sizeof why)) return fail(why);
  for (size_t i = 0; i < trace.processes; i++) {
    if (!put_sites(&trace.process[i], i, wishes)) return fail("out of memory");
  }
  printf("{\"kind\":\"trace\",\"torn\":%s}\n", trace.torn ? "true" : "false");
  hak_trace_drop(&trace);
  return fflush(stdout) != 0 || ferror(stdout) ? fail("the lines cannot be written") : 0;
}

static bool number_of(const char *text, uint64_t *out)
{
  char *end;
  *out = strtoull(text, &end, 10);
  return *end == '\0' && end != text && *out != 0;
}

int main(int count, char **arguments)
{
  static const struct option options[] = {
      {"least", required_argument, NULL, 'l'}, {"most", required_argument, NULL, 'm'}, {0}};
  struct wishes wishes = {65536, UINT64_MAX};
  for (int option; (option = getopt_long(count, arguments, "", options, NULL)) != -1;) {
    if (option != 'l' && option != 'm') return bad_usage;
    if (!number_of(optarg, option == 'l' ? &wishes.least : &wishes.most))
      return fail(option == 'l' ? "--least: not a number above 0" : "--most: not a number above 0"), bad_usage;
  }
  return put_trace(&wishes);
}
