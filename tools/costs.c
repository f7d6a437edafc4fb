/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* costs.c: hak_costs, the cost of kernel work on this machine, as measured by the library.
 *
 * what      Writes a line of JSON: call_ns, page_ns and move_ns (retain/cost.h), each the median of 9 first
 *           measurements. A setting (HAKMEM_LAB_COST_...) does not replace a figure.
 * failure   A line on stderr, and exit status 1: the costs cannot be measured here (os/costs.h).
 * not here  Use of the costs: retain/rent.h.
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
    fputs("hak_costs: the cost of a page cannot be measured here\n", stderr);
    return 1;
  }
  hak_json_begin("costs", 0);
  hak_json_count("call_ns", in_the_middle(call));
  hak_json_count("page_ns", in_the_middle(page));
  hak_json_count("move_ns", in_the_middle(move));
  hak_json_end();
  return fflush(stdout) != 0 || ferror(stdout);
}
