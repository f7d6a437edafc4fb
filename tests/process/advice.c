/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* advice.c HOW: a program advises huge pages for its blocks, as numpy does for arrays from 4 MiB on, frees the blocks,
 * and touches 2.3 MiB, a page here and there, of later blocks. The advice must not apply to the later blocks.
 *   runs      blocks of 16 MiB in the range; later blocks of 300,000 bytes
 *   cut       a block of 30 MiB mapped alone; a later block of 29 MiB
 *   grown     a block of 16 MiB mapped alone; a later block of 170 MiB
 *   touched   as grown, with all pages of the first block resident
 *   loop      a block of 4 MiB again and again: no call beside the program's own, but for one when the site, known by
 *             its 64th block, gets a record by depth of the stack */
#include <malloc.h>
#include <sys/mman.h>

#include "observe.h"

enum { PAGE = 4096, PAGES = 575, MANY = 10 };

#define LEAST_KEPT (8 * MIB)
#define SLACK_BYTES (4 * MIB) /* huge pages at the borders, and HAKMEM's own tables */

__attribute__((noinline)) static char *advised(size_t n) {
  char *p = malloc(n);
  work_expect(p != NULL, "no memory");
  const uintptr_t from = ((uintptr_t)p + PAGE) & -(uintptr_t)PAGE; /* as numpy */
  work_expect(madvise((void *)from, (uintptr_t)p + n - from, MADV_HUGEPAGE) == 0, "madvise");
  return p;
}

static char *advised_whole(size_t n) {
  char *p = malloc(n);
  work_expect(p != NULL && madvise(p, n, MADV_HUGEPAGE) == 0, "madvise");
  return p;
}

/* Resident bytes at the end: those before, freed memory that may stay, and the pages touched. */
static void expect_little(size_t before, size_t kept) {
  const size_t now = anonymous_bytes(), most = before + kept + PAGES * PAGE + SLACK_BYTES;
  printf("%zu MiB resident, at most %zu\n", now / MIB, most / MIB);
  work_expect(now <= most, "advice for a freed block applies to a later block");
}

static void runs(void) {
  char *block[MANY];
  work_expect(mallopt(M_MMAP_THRESHOLD, 32 << 20) == 1, "mallopt");
  const size_t before = anonymous_bytes();
  for (int i = 0; i < MANY; i++) memset(block[i] = advised(16 * MIB), 1, 16 * MIB);
  for (int i = 0; i < MANY; i++) free(block[i]);
  for (int i = 0; i < PAGES; i++) memset(malloc(300000), 1, 1);
  expect_little(before, LEAST_KEPT);
}

static void touch_some(char *p, size_t n) {
  for (size_t i = 0; i < PAGES; i++) p[i * (n / PAGES)] = 1;
}

/* Four times: memory that is taken again stays when freed. */
static void map_alone(size_t n, size_t touched, size_t later) {
  free(memset(malloc(LEAST_KEPT), 1, LEAST_KEPT)); /* limits of memory are read */
  const size_t before = anonymous_bytes();
  for (int i = 0; i < 4; i++) free(memset(advised_whole(n), 1, touched));
  char *p = malloc(later);
  work_expect(p != NULL, "no memory");
  touch_some(p, later);
  expect_little(before, touched + LEAST_KEPT);
}

static void cut(void) { map_alone(30 * MIB, 1, 29 * MIB); }
static void grown(void) { map_alone(16 * MIB, 1, 170 * MIB); }
static void touched(void) { map_alone(16 * MIB, 16 * MIB, 170 * MIB); }

static void loop(void) {
  enum { ROUNDS = 100 };
  free(memset(malloc(LEAST_KEPT), 1, LEAST_KEPT));
  for (int i = 0; i < 2; i++) free(advised(4 * MIB));
  const uint64_t before = counter_now("kernel_advise");
  for (int i = 0; i < ROUNDS; i++) free(advised(4 * MIB));
  work_expect(counter_now("kernel_advise") <= before + 1, "calls for a block that is taken again");
}

static bool has_huge_pages(void) {
  char text[64];
  if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0) return false;
  read_proc("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text);
  return strstr(text, "[madvise]") != NULL;
}

int main(int count, char **arguments) {
  static const struct {
    const char *name;
    void (*run)(void);
  } ways[] = {{"runs", runs}, {"cut", cut}, {"grown", grown}, {"touched", touched}, {"loop", loop}};
  if (!has_huge_pages()) return puts("skipped: huge pages are not given by advice"), 0;
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    if (count == 2 && strcmp(arguments[1], ways[i].name) == 0) ways[i].run();
  }
  puts("done");
  return 0;
}
