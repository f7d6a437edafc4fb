/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* values.c LEAST MOST LIVE PERCENT: a cache of values of LEAST to MOST bytes, LIVE MiB, each replaced at random. Tests
 * what blocks of these sizes cost: room of a block; resident memory, at most PERCENT of the bytes asked for; and page
 * faults, at most five for a replacement (a busy machine has more of them, as time passes). Prints all three. */
#include <sys/resource.h>

#include "observe.h"

enum { VALUES = 1 << 13, REPLACED = 60000, LOOK_EVERY = 1000 };

static char *g_value[VALUES];
static size_t g_bytes[VALUES], g_live;

static void put(size_t i, size_t bytes) {
  char *p = malloc(bytes);
  work_expect(p != NULL, "no memory");
  g_value[i] = memset(p, 1, bytes);
  g_bytes[i] = bytes;
  g_live += bytes;
}

static void drop(size_t i) {
  free(g_value[i]);
  g_live -= g_bytes[i];
}

static double room(size_t values) {
  size_t room = 0;
  for (size_t i = 0; i < values; i++) room += malloc_usable_size(g_value[i]);
  return (double)room / (double)g_live;
}

/* The mean of resident ÷ live bytes, over the last three quarters. */
static double replace(size_t values, size_t least, size_t most, size_t before, uint32_t *state) {
  double sum = 0, looks = 0;
  for (size_t n = 0; n < REPLACED; n++) {
    const size_t i = work_next(state) % values;
    drop(i);
    put(i, least + work_next(state) % (most - least));
    if (n < REPLACED / 4 || n % LOOK_EVERY != 0) continue;
    sum += (double)(anonymous_bytes() - before) / (double)g_live;
    looks++;
  }
  return sum / looks;
}

static double faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_minflt;
}

int main(int arguments, char **argument) {
  uint32_t state = 1;
  size_t values = 0;
  work_expect(arguments == 5, "two sizes, MiB, percent");
  const size_t live = strtoul(argument[3], NULL, 10) * MIB;
  const double most_resident = strtod(argument[4], NULL) / 100;
  const size_t least = strtoul(argument[1], NULL, 10), most = strtoul(argument[2], NULL, 10);
  const size_t before = anonymous_bytes();
  for (; g_live < live && values < VALUES; values++) put(values, least + work_next(&state) % (most - least));
  const double begun = faults(), resident = replace(values, least, most, before, &state), rounded = room(values);
  const double fetched = (faults() - begun) / REPLACED;
  printf("room %.3f and resident memory %.3f times the bytes asked for; %.3f page faults per replacement\n", rounded,
         resident, fetched);
  /* half a page more, on average, where pages are longer than 4 KiB */
  const double longer = (double)(page_bytes() - 4096) / (double)(least + most);
  work_expect(rounded <= 1.05 + longer, "rounding takes more than 5 % on average");
  work_expect(resident <= most_resident + longer, "fragmentation and rounding take more");
  work_expect(fetched <= 5, "pages are fetched again and again");
  return 0;
}
