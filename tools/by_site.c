/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* by_site.c: see by_site.h. */
#include "by_site.h"
#include "json.h"
#include "pages.h"
#include <stdlib.h>

struct account {
  uint64_t count, hits, faults, pages;
};

static struct {
  struct account *account; /* by site */
  struct pages before;     /* before the current call */
  uint64_t least;
} table;

bool by_site_make(const struct hak_process *process, uint64_t least)
{
  table.account = calloc(process->sites, sizeof *table.account);
  table.least = least;
  return table.account != NULL;
}

void by_site_begin(void)
{
  table.before = *pages_now();
}

void by_site_end(const struct hak_event *event)
{
  const struct pages *now = pages_now();
  if (event->size < table.least)
    return;
  struct account *a = &table.account[event->site];
  a->count++;
  a->hits += now->faults == table.before.faults;
  a->faults += now->faults - table.before.faults;
  a->pages += now->fetched - table.before.fetched;
}

static void put_account(const struct hak_site *site, const struct account *a, size_t number)
{
  hak_json_begin("site", number);
  hak_json_count("address", site->address);
  hak_json_count("depth", site->depth);
  hak_json_count("count", a->count);
  hak_json_count("hits", a->hits);
  hak_json_count("faults", a->faults);
  hak_json_count("pages", a->pages);
  hak_json_end();
}

void by_site_put(const struct hak_process *process, size_t number)
{
  for (uint32_t i = 0; i < process->sites; i++)
    if (table.account[i].count != 0)
      put_account(&process->site[i], &table.account[i], number);
}
