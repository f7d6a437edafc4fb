/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* huge_pages.c dense|sparse|buffers|filled|arrays|lone: effect of huge pages on a heap [KiB].
 *   dense   64 MiB of blocks of 1,000 bytes, all written: how much of the heap's mappings lies in huge pages
 *   sparse  256 MiB of blocks of 64 KiB, one byte of each written: how much is resident
 *   buffers 128 MiB of blocks of 16 KiB, the same
 *   filled  128 MiB of blocks of 16 KiB, all written: how much lies in huge pages
 *   arrays  after one like it was freed: 64 MiB of blocks of 8 MiB, all written: how much lies in huge pages
 *   lone    after a written one was freed: 240 MiB of blocks of 8 MiB, one byte of each written: how much is resident
 */
#include "workload.h"

#include <inttypes.h>

enum { DENSE_BLOCK = 1000, DENSE_BLOCKS = 1 << 16, SPARSE_BLOCK = 64 << 10, SPARSE_BLOCKS = 1 << 12 };
enum { BUFFER = 16 << 10, BUFFERS = 1 << 13, ARRAY = 8 << 20, ARRAYS = 8, LONE = 30 };

struct area {
  uintptr_t lowest, highest;
};

static void include(struct area *area, uintptr_t p) {
  if (area->lowest == 0 || p < area->lowest) area->lowest = p;
  if (p > area->highest) area->highest = p;
}

/* Blocks that live until the end, and their area. */
static struct area fill(size_t count, size_t bytes, size_t written) {
  struct area area = {0, 0};
  for (size_t i = 0; i < count; i++) {
    char *p = malloc(bytes);
    work_expect(p != NULL, "no memory");
    memset(p, 1, written);
    include(&area, (uintptr_t)p);
  }
  return area;
}

/* The sum of a row of smaps over the mappings that share an address with the area. */
static uint64_t sum_of(const char *row, struct area area) {
  char line[512];
  uint64_t sum = 0, kib;
  uintptr_t first, end;
  int inside = 0;
  FILE *file = fopen("/proc/self/smaps", "r");
  work_expect(file != NULL, "no /proc/self/smaps");
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &first, &end) == 2) inside = first <= area.highest && area.lowest < end;
    else if (inside && strncmp(line, row, strlen(row)) == 0 && sscanf(line, "%*s %" SCNu64, &kib) == 1) sum += kib;
  }
  fclose(file);
  return sum;
}

static void free_a_written_array(void) {
  char *p = malloc(ARRAY);
  work_expect(p != NULL, "no memory");
  free(memset(p, 1, ARRAY));
}

int main(int count, char **arguments) {
  const char *what = count == 2 ? arguments[1] : "";
  if (strcmp(what, "dense") == 0) {
    printf("%" PRIu64 "\n", sum_of("AnonHugePages:", fill(DENSE_BLOCKS, DENSE_BLOCK, DENSE_BLOCK)));
  } else if (strcmp(what, "buffers") == 0) {
    printf("%" PRIu64 "\n", sum_of("Rss:", fill(BUFFERS, BUFFER, 1)));
  } else if (strcmp(what, "filled") == 0) {
    printf("%" PRIu64 "\n", sum_of("AnonHugePages:", fill(BUFFERS, BUFFER, BUFFER)));
  } else if (strcmp(what, "arrays") == 0) {
    free_a_written_array();
    printf("%" PRIu64 "\n", sum_of("AnonHugePages:", fill(ARRAYS, ARRAY, ARRAY)));
  } else if (strcmp(what, "lone") == 0) {
    free_a_written_array();
    printf("%" PRIu64 "\n", sum_of("Rss:", fill(LONE, ARRAY, 1)));
  } else {
    work_expect(strcmp(what, "sparse") == 0, "usage: huge_pages dense|sparse|buffers|filled|arrays|lone");
    printf("%" PRIu64 "\n", sum_of("Rss:", fill(SPARSE_BLOCKS, SPARSE_BLOCK, 1)));
  }
  return 0;
}
