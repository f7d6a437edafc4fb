/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guarded.c HOW: a program guards pages of its blocks (as collectors and checkpoints do), with a handler that allocates
 * before unguarding the page, and resizes and frees guarded blocks. A fault elsewhere ends the program.
 *   middle    a page inside is guarded: the block is grown, by much and by a page, and cut to a half
 *   ends      the first or the last page is guarded
 *   all       the whole block is guarded, against reading or against writing only
 *   advised   the block is excluded from a fork's child, or locked
 *   freed     blocks are freed guarded, beside blocks in use
 *   limit     the last block of the heap is guarded, and no more mappings are left: later blocks are usable
 *   limit_forked   the same with a block that is excluded from a fork's child: later allocations exist in the child */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "observe.h"

enum { SIZES = 4, BIG = 2 };

static size_t g_page; /* the kernel's */
static const size_t g_sizes[SIZES] = {5 * 4096, 300000, 9 * MIB, 33 * MIB};

static struct {
  char *from, *end;
} g_guarded;
static volatile unsigned g_faults;

static void let_be_used(int number, siginfo_t *info, void *context) {
  char *page = (char *)((uintptr_t)info->si_addr & -(uintptr_t)g_page);
  (void)number, (void)context;
  if (page < g_guarded.from || page >= g_guarded.end) _exit(3);
  const size_t most = g_faults++ % 64 == 0 ? 3 * MIB : 100;
  for (size_t n = 100; n <= most; n *= 31) free(memset(malloc(n), 1, n));
  work_expect(mprotect(page, g_page, PROT_READ | PROT_WRITE) == 0, "mprotect");
}

static void catch_faults(void) {
  struct sigaction action = {.sa_sigaction = let_be_used, .sa_flags = SA_SIGINFO};
  work_expect(sigaction(SIGSEGV, &action, NULL) == 0, "sigaction");
}

static char mark_of(size_t at) { return (char)(at / g_page * 7 + 1); }

static char *marked(size_t n) {
  char *p = aligned_alloc(g_page, n);
  work_expect(p != NULL, "no memory");
  for (size_t at = 0; at < n; at += g_page) p[at] = mark_of(at);
  return p;
}

/* Faults at guarded addresses belong to the program, until the block is freed. */
static void guard(char *p, size_t bytes, int protection) {
  g_guarded.from = p;
  g_guarded.end = p + bytes;
  work_expect(mprotect(p, bytes, protection) == 0, "mprotect");
}

static void expect_marks(char *p, size_t n) {
  for (size_t at = 0; at < n; at += g_page) work_expect(p[at] == mark_of(at), "a page was lost");
}

/* After the resize all bytes can be written: at the old address after the handler ran, at a new address at once. */
static void resize(char *p, size_t have, size_t n) {
  char *q = realloc(p, n);
  work_expect(q != NULL, "no memory");
  if (q != p) g_guarded.from = g_guarded.end = NULL;
  expect_marks(q, have < n ? have : n);
  for (size_t at = 0; at < n; at += g_page) q[at] = 1;
  q[n - 1] = 1;
  free(q);
}

/* Two at least: one may be guarded. */
static size_t in_pages(size_t n) { return n <= 2 * g_page ? 2 * g_page : (n + g_page - 1) & -g_page; }

/* Resizes each length each way, with pages guarded from a place on. Pages of a short block that the handler did not see
 * stay guarded, as with other allocators: short blocks are not cut, nor guarded against writing only. */
static void resize_all(bool at_end, size_t pages, int protection) {
  for (int i = protection == PROT_NONE ? 0 : BIG; i < SIZES; i++) {
    const size_t n = in_pages(g_sizes[i]), wanted[] = {3 * n, n + g_page, n / 2};
    for (int k = 0; k < (i < BIG ? 2 : 3); k++) {
      char *p = marked(n);
      guard(at_end ? p + n - g_page : p, pages != 0 ? pages * g_page : n, protection);
      resize(p, n, wanted[k]);
    }
  }
}

static void middle(void) {
  for (int i = 0; i < SIZES; i++) {
    const size_t n = in_pages(g_sizes[i]), wanted[] = {3 * n, n + g_page, n / 2};
    for (int k = 0; k < 3; k++) {
      char *p = marked(n);
      guard(p + g_page, g_page, PROT_NONE);
      resize(p, n, wanted[k]);
    }
  }
  work_expect(g_faults != 0, "the handler was never called");
}

static void ends(void) {
  resize_all(false, 1, PROT_NONE);
  resize_all(true, 1, PROT_NONE);
}

static void all(void) {
  resize_all(false, 0, PROT_NONE);
  resize_all(false, 0, PROT_READ);
}

static void write_in_child(char *p, size_t n) {
  const pid_t child = fork();
  int status = 0;
  if (child == 0) {
    memset(p, 2, n);
    _exit(0);
  }
  work_expect(waitpid(child, &status, 0) == child && status == 0, "the child has no memory of its own");
}

/* Advice for a freed block does not apply to blocks behind the freed block. */
static void advised(void) {
  for (int i = 0; i < SIZES; i++) {
    const size_t n = in_pages(g_sizes[i]);
    char *p = marked(n);
    work_expect(madvise(p, n, MADV_DONTFORK) == 0, "madvise");
    resize(p, n, 2 * n);
    p = marked(n);
    work_expect(mlock(p, n) == 0, "mlock");
    resize(p, n, 2 * n);
  }
  char *block = malloc(100);
  write_in_child(block, 100);
}

/* Blocks that glibc's malloc unmaps at once serve again with usual rights. */
static void freed(void) {
  char *beside[SIZES];
  for (int i = 0; i < SIZES; i++) {
    const size_t n = in_pages(g_sizes[i]);
    char *p = marked(n);
    beside[i] = marked(n);
    guard(p, n / 2 & -g_page, PROT_NONE);
    free(p);
    if (n < 32 * MIB) malloc_trim(0);
    else free(marked(n));
  }
  for (int i = 0; i < SIZES; i++) expect_marks(beside[i], in_pages(g_sizes[i]));
}

/* ---- at the limit of mappings ---- */

enum { UNIT = 64 << 10, LEAST = 9, LATE = 1000 }; /* LEAST: shorter blocks are cut in pages */

/* Units of the heap that were never used. */
static size_t clean_units(void) {
  struct hak_stats stats = {.version = HAK_STATS_VERSION, .size = sizeof stats};
  work_expect(hak_get_stats(&stats) == 0, "hak_get_stats");
  return stats.span_clean / UNIT;
}

static void forbid(void *p, size_t n) { work_expect(mprotect(p, n, PROT_NONE) == 0, "mprotect"); }
static void leave_out(void *p, size_t n) { work_expect(madvise(p, n, MADV_DONTFORK) == 0, "madvise"); }

/* Allocates until the block at the end of the heap is taken. Shorter blocks would come from a magazine. */
static void use_all_up(void (*mark)(void *p, size_t n)) {
  do {
    const size_t left = clean_units(), n = (left >= LEAST && left < 2 * LEAST ? left : LEAST) * UNIT;
    mark(aligned_alloc(UNIT, n), n);
  } while (clean_units() != 0);
}

/* Makes every second page a separate mapping, then maps until the kernel refuses: the kernel allows one more mmap than
 * splits. */
static void use_mappings_up(void) {
  const size_t most = (size_t)1 << 30;
  char *p = mmap(NULL, most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  size_t at = 0;
  work_expect(p != MAP_FAILED, "mmap");
  while (at < most && mprotect(p + at, g_page, PROT_READ) == 0) at += 2 * g_page;
  while (at < most && mmap(NULL, g_page, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) at += g_page;
  if (at < most) return;
  puts("skipped: the kernel gives very many mappings");
  exit(0);
}

static void *g_late[LATE];

/* An allocation may fail; most must succeed. */
static void take_late(void) {
  size_t had = 0;
  for (size_t i = 0; i < LATE; i++) {
    g_late[i] = malloc(LEAST * UNIT);
    had += g_late[i] != NULL;
    if (g_late[i] != NULL) memset(g_late[i], 1, LEAST * UNIT);
  }
  work_expect(had > LATE / 2, "no memory");
}

static void limit(void) {
  use_all_up(forbid);
  use_mappings_up();
  take_late();
}

static void limit_forked(void) {
  use_all_up(leave_out);
  use_mappings_up();
  take_late();
  for (size_t i = 0; i < LATE; i += LATE / 4) write_in_child(g_late[i], g_late[i] != NULL ? UNIT : 0);
}

int main(int count, char **arguments) {
  static const struct {
    const char *name;
    void (*run)(void);
  } ways[] = {{"middle", middle},   {"ends", ends},   {"all", all},
              {"advised", advised}, {"freed", freed}, {"limit", limit}, {"limit_forked", limit_forked}};
  g_page = (size_t)sysconf(_SC_PAGESIZE);
  catch_faults();
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    if (count == 2 && strcmp(arguments[1], ways[i].name) == 0) ways[i].run();
  }
  puts("done");
  return 0;
}
