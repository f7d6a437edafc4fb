/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* costs.c: hak_costs, which says what the kernel's work costs on this machine, as the library would measure it.
 *
 * what      Writes a line of JSON: call_ns, page_ns and move_ns (retain/cost.h), each in the middle of some first
 *           measurements. A setting (HAKMEM_COST_) takes the place of none of them.
 * failure   One line on standard error, and 1: they cannot be measured here (os/costs.h).
 * not here  What follows from them: retain/rent.h.
 */
#include "json.h"
#include "retain/cost.h"
#include <stdio.h>
#include <stdlib.h>

enum { times = 9 };

static int by_value(const void *left, const void *right)
{
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static uint64_t in_the_middle(uint64_t *ns)
{
  qsort(ns, times, sizeof *ns, by_value);
  return ns[times / 2];
}

int main(void)
{
  uint64_t call[times], page[times], move[times];
  for (int n = 0; n < times; n++) {
    g_cost = (struct hak_cost){0};
    hak_cost_measure(0);
    call[n] = g_cost.measured.call_ns;
    page[n] = g_cost.measured.page_ns;
    move[n] = g_cost.measured.move_ns;
  }
  if (in_the_middle(page) == 0) {
    fputs("hak_costs: what a page costs cannot be measured here\n", stderr);
    return 1;
  }
  hak_json_begin("costs", 0);
  hak_json_count("call_ns", in_the_middle(call));
  hak_json_count("page_ns", in_the_middle(page));
  hak_json_count("move_ns", in_the_middle(move));
  hak_json_end();
  return fflush(stdout) != 0 || ferror(stdout);
}
