/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuts.c: forks at chosen instructions of the allocator, while another thread is just there, and checks every child.
 *
 * what      cuts SCENARIO POINTS BUDGET UNITS
 *           A cut is a fork while another thread is inside the allocator. A worker thread works with the trap flag set:
 *           the processor stops after each of its instructions. At a point of POINTS the worker halts and the main
 *           thread forks; the child has the half-done call and no thread to finish it.
 *
 *               worker: instruction, instruction, point! ---wait---------------> instruction ...
 *               main:                             fork ---> child: checked.h, status
 *
 *           POINTS: a file with a line per instruction: the offset in libhakmem.so (hexadecimal) and a number n. The
 *           instruction is a point at its 1st, 2nd, 4th, 8th ... execution, up to the nth. BUDGET, UNITS: offsets of
 *           two counts that the library does not export (checked.h). Prints a line per child, "cut OFFSET status
 *           STATUS", then "N cuts, M failed".
 * owner     g_cut: passed between worker and main thread with two semaphores.
 * orders    The semaphores'.
 * failure   Exit status 1 when a child failed or there was no cut, 2 when the arguments make no sense.
 * not here  The work of a child (checked.h). The choice of points (cuts_test.py). x86-64 only.
 */
#include <errno.h>
#include <link.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "checked.h"

enum { MOST_CODE = 1 << 20 };

static struct {
  uintptr_t base;            /* of libhakmem.so */
  uint16_t most[MOST_CODE];  /* executions up to which an instruction can be a point */
  uint16_t met[MOST_CODE];
  uintptr_t at;              /* offset of the present cut */
  sem_t reached, go_on;
  volatile int over;         /* volatile: set by a thread's destructor, read by the thread's signal handler */
} g_cut;

static struct checked_live g_live;
static struct checked_counts g_counts;

/* ---- the worker ---- */

static int is_point(uintptr_t offset) {
  if (offset >= MOST_CODE || g_cut.met[offset] >= g_cut.most[offset]) return 0;
  const unsigned met = ++g_cut.met[offset];
  return (met & (met - 1)) == 0;
}

static void step(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  const int saved = errno;
  const uintptr_t offset = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] - g_cut.base;
  if (g_cut.over || !is_point(offset)) return;
  g_cut.at = offset;
  sem_post(&g_cut.reached);
  while (sem_wait(&g_cut.go_on) != 0) continue;
  errno = saved;
}

static inline void start_stepping(void) { __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc"); }
static inline void stop_stepping(void) { __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc"); }

static void finish(void) {
  stop_stepping();
  g_cut.over = 1;
  sem_post(&g_cut.reached);
}

/* ---- the worker's calls ---- */

enum { MOST_HELD = 1500 };
static void *g_held[MOST_HELD]; /* the worker's blocks and, before its start, the main thread's */

static void take_and_free(int count, size_t n) {
  for (int i = 0; i < count; i++) g_held[i] = malloc(n);
  for (int i = 0; i < count; i++) free(g_held[i]);
}

/* All caches hold blocks of each size, except the largest. */
static void warm_up(void) {
  for (int s = 0; s < CHECKED_SIZES - 2; s++) {
    const size_t n = checked_sizes[s].bytes;
    take_and_free(n < 2000 ? 400 : 20, n);
  }
}

static void use_mid(void) {
  take_and_free(60, 5000);
  take_and_free(40, 640);
}

static void use_small(void) {
  take_and_free(MOST_HELD, 48);
  take_and_free(MOST_HELD, 112);
}

static void use_large(void) {
  void *a = malloc(70000), *b = malloc(33000), *c = memalign(262144, 100000);
  b = realloc(b, 300000);
  b = realloc(b, 500000);
  b = realloc(b, 90000);
  free(a);
  free(b);
  free(c);
  free(malloc(900000));
}

static void use_big(void) {
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 8; i++) g_held[i] = malloc((1u << 20) + (size_t)i * 300000);
    g_held[3] = realloc(g_held[3], 5u << 20);
    for (int i = 0; i < 8; i++) free(g_held[i]);
  }
}

/* At full speed: free memory is released as time passes. */
static void free_at_once(void *p) {
  stop_stepping();
  free(p);
  start_stepping();
}

/* At a price at which next to nothing may stay beside the next block, so that pages move into the new block: free
 * memory is extended, or of two free mappings one is extended and the second's pages move in. realloc copies a block of
 * several mappings, cuts a tail off, and grows again. */
static void move_pages(void) {
  void *p = malloc(1500000), *between = malloc(1100000), *q = malloc(2200000);
  free_at_once(p);
  free_at_once(q);
  p = malloc(3900000);
  free(between);
  free_at_once(p);
  p = malloc(4500000);
  p = realloc(p, 4900000);
  p = realloc(p, 1200000);
  p = realloc(p, 1300000);
  free(p);
}

/* Enough big blocks for their table to grow. */
static void grow_table(void) { take_and_free(220, 1u << 20); }

/* One magazine after the next: with tight bounds each takes capacity from earlier magazines. */
static void turn_hand(void) {
  for (size_t n = 16; n <= 30000; n += n < 1024 ? 48 : n / 4) take_and_free(8, n);
}

static void trim(void) {
  char *p = malloc(300000);
  *p = 1;
  free(p);
  malloc_trim(0);
}

static void hold(void) {
  for (int i = 0; i < MOST_HELD; i++) g_held[i] = memset(malloc(1000), 1, 1000);
}

/* At a price that lets no memory wait. More runs become free than may stay: the slow path releases old memory, these
 * runs and the pages between the remaining blocks. */
static void grow_old(void) {
  enum { RUNS = 12 };
  void *runs[RUNS];
  for (int i = 0; i < MOST_HELD; i++) {
    if (i % 24 != 0) free(g_held[i]);
  }
  for (int i = 0; i < RUNS; i++) runs[i] = malloc(900000);
  for (int i = 0; i < RUNS; i++) free(runs[i]);
}

static void *trim_and_end(void *unused) {
  malloc_trim(0);
  return unused;
}

/* A second thread empties this thread's magazines. */
static void be_drained(void) {
  pthread_t thread;
  warm_up();
  if (pthread_create(&thread, NULL, trim_and_end, NULL) != 0) _exit(2);
  pthread_join(thread, NULL);
}

static void *fill_and_wait(void *filled) {
  warm_up();
  sem_post(filled);
  for (;;) pause();
  return NULL;
}

/* In the child this thread does not exist, and its magazines are taken apart, emptied or not. */
static void have_an_idle_thread(void) {
  static sem_t filled;
  pthread_t thread;
  sem_init(&filled, 0, 0);
  if (pthread_create(&thread, NULL, fill_and_wait, &filled) != 0) _exit(2);
  while (sem_wait(&filled) != 0) continue;
}

static void nothing(void) {}

static void fill_caches(void) {
  warm_up();
  use_small();
  turn_hand();
}

static void use_runs(void) {
  for (int i = 0; i < 9; i++) free(malloc(60000)), free(malloc(120000)), free(malloc(250000));
  for (int round = 0; round < 10; round++) take_and_free(2, 60000), take_and_free(2, 120000);
  for (int round = 0; round < 10; round++) take_and_free(4, 60000);
  void *a = malloc(60000);
  a = realloc(a, 120000);
  a = realloc(a, 250000);
  a = realloc(a, 300000);
  a = realloc(a, 100000);
  free(a);
  free(calloc(1, 120000));
  take_and_free(8, 60000);
  free(malloc(60000));
}

static void use_runs_and_trim(void) {
  use_runs();
  malloc_trim(0);
}

/* `before` is not stepped through; `end`: the exit of the thread is stepped through. */
static const struct scenario {
  const char *name;
  void (*before)(void), (*steps)(void);
  int end;
} g_scenarios[] = {
    {"small", use_mid, use_small, 0}, {"mid", nothing, use_mid, 0},      {"large", nothing, use_large, 0},
    {"big", nothing, use_big, 0},     {"table", nothing, grow_table, 0}, {"hand", turn_hand, turn_hand, 0},
    {"trim", warm_up, trim, 0},       {"exit", fill_caches, nothing, 1}, {"age", hold, grow_old, 0},
    {"drained", be_drained, use_mid, 0}, {"moved", nothing, move_pages, 0},
    {"runs", nothing, use_runs, 0},
    {"runs_trim", use_runs, use_runs_and_trim, 0},
    {"runs_exit", use_runs, nothing, 1},
    {"drain", have_an_idle_thread, trim, 0},
};

/* A thread's destructors run in the order of key creation: this destructor after HAKMEM's. */
static pthread_key_t g_last_key;

static void last_destructor(void *unused) {
  (void)unused;
  finish();
}

static void *worker(void *argument) {
  const struct scenario *scenario = argument;
  scenario->before();
  if (scenario->end) pthread_setspecific(g_last_key, &g_last_key);
  start_stepping();
  scenario->steps();
  if (!scenario->end) finish();
  return NULL;
}

/* ---- the main thread ---- */

static int find_library(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size, (void)unused;
  if (strstr(info->dlpi_name, "libhakmem") == NULL) return 0;
  g_cut.base = info->dlpi_addr;
  return 1;
}

__attribute__((noreturn)) static void refuse(const char *what) {
  fprintf(stderr, "cuts: %s\n", what);
  exit(2);
}

static const struct scenario *scenario_named(const char *name) {
  for (size_t i = 0; i < sizeof g_scenarios / sizeof g_scenarios[0]; i++)
    if (strcmp(g_scenarios[i].name, name) == 0) return &g_scenarios[i];
  refuse("no such scenario");
}

static void read_points(const char *path) {
  unsigned long offset, most;
  FILE *file = fopen(path, "re");
  if (file == NULL) refuse("the file of points cannot be read");
  while (fscanf(file, "%lx %lu", &offset, &most) == 2) {
    if (offset >= MOST_CODE || most > UINT16_MAX) refuse("a point makes no sense");
    g_cut.most[offset] = (uint16_t)most;
  }
  fclose(file);
}

static const int64_t *at_offset(const char *hexadecimal) {
  return (const int64_t *)(g_cut.base + strtoul(hexadecimal, NULL, 16));
}

/* Status 0: the child passed its checks. */
static int cut_here(void) {
  int status = 1;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGTRAP, SIG_DFL);
    checked_child(&g_live, &g_counts);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) refuse("no child");
  printf("cut %lx status %#x\n", (unsigned long)g_cut.at, (unsigned)status);
  return status;
}

static void start_worker(const struct scenario *scenario) {
  pthread_t thread;
  const struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  sem_init(&g_cut.reached, 0, 0);
  sem_init(&g_cut.go_on, 0, 0);
  pthread_key_create(&g_last_key, last_destructor);
  if (pthread_create(&thread, NULL, worker, (void *)(uintptr_t)scenario) != 0) refuse("no thread");
}

static int cut_through(const struct scenario *scenario) {
  int cuts = 0, failed = 0;
  for (start_worker(scenario);; sem_post(&g_cut.go_on)) {
    while (sem_wait(&g_cut.reached) != 0) continue;
    if (g_cut.over) break;
    cuts++;
    failed += cut_here() != 0;
  }
  printf("%d cuts, %d failed\n", cuts, failed);
  return cuts > 0 && failed == 0 ? 0 : 1;
}

int main(int count, char **arguments) {
  const struct rlimit no_core = {0, 0};
  setvbuf(stdout, NULL, _IONBF, 0);
  setrlimit(RLIMIT_CORE, &no_core);
  if (count != 5) refuse("expected SCENARIO POINTS BUDGET UNITS");
  if (dl_iterate_phdr(find_library, NULL) != 1) refuse("libhakmem.so is not preloaded");
  const struct scenario *scenario = scenario_named(arguments[1]);
  read_points(arguments[2]);
  g_counts.budget = at_offset(arguments[3]);
  g_counts.units = at_offset(arguments[4]);
  warm_up();
  checked_fill(&g_live);
  _exit(cut_through(scenario)); /* the worker, if stopped, is left behind */
}
