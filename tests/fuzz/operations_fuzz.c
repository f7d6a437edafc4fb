/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* operations_fuzz.c: any bytes are calls of several threads, checked against what the calls promise; see tests/README.md.
 *
 * what      Four threads share 64 places for blocks. Every live block is filled to its usable size with a pattern, and
 *           the table of blocks is the oracle: contents, alignment, zero of calloc, usable size, overlap, the sum of
 *           the bytes in use.
 *
 *               first byte, bit 0 clear   one call at a time, each by the thread that the call names
 *               first byte, bit 0 set     all four threads at once, each with a quarter of the input; blocks are passed
 *                                         on through mailboxes
 *
 *           Time passes by a call, not by waiting: the clock that the library reads has an offset. The kernel refuses
 *           memory by a call (--wrap=hak_kernel). Threads end and begin anew, and a fork's child goes on alone.
 * owner     g_block. A block belongs to the thread whose place has it, or to a mailbox.
 * orders    A mailbox is exchanged with acq_rel, as a program's queue does.
 * failure   abort, with one line that names the broken promise.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blocks/guarded.h"
#include "hakmem/hakmem.h"
#include "os/clock.h"
#include "tables/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *count, char ***words);
long __real_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f);

enum { THREADS = 4, PLACES = 64, OWN = PLACES / THREADS, MAILBOXES = 8, BYTES_MOST = 64 << 20, FORKS_MOST = 1 };

#define MUST(holds, what)                              \
  do {                                                 \
    if (!(holds)) broken(what);                        \
  } while (0)

static _Noreturn void broken(const char *what) {
  fprintf(stderr, "operations_fuzz: broken: %s\n", what);
  abort();
}

/* ---- input ---- */

struct input {
  const uint8_t *at, *end;
};

static unsigned take(struct input *in) { return in->at < in->end ? *in->at++ : 0; }

/* Sizes of all layers: 12 bits of mantissa, shifted. 15 in the upper bits: a size that cannot be had, or 0. */
static size_t take_size(struct input *in) {
  static const size_t odd[] = {0, 1, SIZE_MAX, SIZE_MAX - 15, (size_t)1 << 47, ((size_t)1 << 47) - 1, (size_t)1 << 62, 2};
  unsigned word = take(in) | take(in) << 8, shift = word >> 12;
  if (shift == 15) return odd[word % (sizeof odd / sizeof *odd)];
  return (size_t)(word & 0xfff) << (shift > 11 ? 11 : shift);
}

static bool is_absurd(size_t n) { return n >= (size_t)1 << 40; }

/* ---- the clock and the kernel ---- */

static uint64_t g_passed_ns;
static long g_refusals;

static int shifted_clock(clockid_t which, struct timespec *out) {
  int error = clock_gettime(which, out);
  uint64_t passed = __atomic_load_n(&g_passed_ns, __ATOMIC_RELAXED);
  uint64_t ns = (uint64_t)out->tv_nsec + passed % 1000000000;
  out->tv_sec += (time_t)(passed / 1000000000 + ns / 1000000000);
  out->tv_nsec = (long)(ns % 1000000000);
  return error;
}

static bool asks_for_memory(long number) {
  return number == SYS_mmap || number == SYS_munmap || number == SYS_mremap || number == SYS_madvise;
}

long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f) {
  if (asks_for_memory(number) && __atomic_load_n(&g_refusals, __ATOMIC_RELAXED) > 0 &&
      __atomic_fetch_sub(&g_refusals, 1, __ATOMIC_RELAXED) > 0)
    return -ENOMEM;
  return __real_hak_kernel(number, a, b, c, d, e, f);
}

/* ---- the oracle ---- */

struct block {
  uint8_t *p; /* NULL: none */
  size_t asked, usable, align;
  uint64_t tag;
};

struct worker {
  struct input in;
  unsigned number;
  uint64_t tag;
  uint8_t place[OWN];          /* numbers in g_block */
  bool runs, ends, alone;      /* alone: no other thread is inside a call */
  pthread_t thread;
  sem_t go, done;
};

static struct block g_block[PLACES + MAILBOXES];
static uint8_t g_mailbox[MAILBOXES]; /* numbers in g_block */
static struct worker g_worker[THREADS];
static bool g_may_refuse; /* a limit or a refusing kernel was in this input */
static unsigned g_forks;  /* in this input */
static size_t g_live;     /* bytes, about */

/* Of the bytes of blocks: no other code is as busy. */
#define QUICK __attribute__((no_sanitize("address", "undefined", "coverage")))

QUICK static uint8_t pattern(const struct block *block, size_t at) {
  return (uint8_t)(at * 131 ^ at >> 8 ^ block->tag * 57 ^ block->tag >> 8);
}

/* The next byte that is filled and checked: all of both ends, between them one in 512, of long blocks one in four pages. */
QUICK static size_t next_byte(const struct block *block, size_t at) {
  enum { DENSE = 64, STEP = 509, LONG = 64 << 10, LONG_STEP = 16381 };
  size_t step = block->usable < LONG ? STEP : LONG_STEP;
  bool between = at >= DENSE && at + DENSE + step < block->usable;
  return at + (between ? step : 1);
}

QUICK static void fill(struct block *block) {
  for (size_t at = 0; at < block->usable; at = next_byte(block, at)) block->p[at] = pattern(block, at);
}

QUICK static bool is_intact(const struct block *was, const uint8_t *p, size_t bytes) {
  for (size_t at = 0; at < was->usable && at < bytes; at = next_byte(was, at)) {
    if (p[at] != pattern(was, at)) return false;
  }
  return true;
}

QUICK static bool is_zero(const uint8_t *p, size_t bytes) {
  const uint64_t *word = (const uint64_t *)(const void *)p;
  uint64_t bits = 0;
  for (size_t n = 0; n < bytes / sizeof *word; n++) bits |= word[n];
  for (size_t at = bytes - bytes % sizeof *word; at < bytes; at++) bits |= p[at];
  return bits == 0;
}

static void check_overlap(const struct block *block) {
  for (struct block *other = g_block; other < g_block + PLACES + MAILBOXES; other++) {
    if (other == block || other->p == NULL) continue;
    MUST(block->p + block->usable <= other->p || other->p + other->usable <= block->p, "two blocks overlap");
  }
}

/* A new block into the empty `block`. */
static void keep(struct worker *worker, struct block *block, void *p, size_t asked, size_t align) {
  MUST(p != NULL || g_may_refuse || is_absurd(asked) || is_absurd(align), "no memory, though nothing refused any");
  if (p == NULL) return;
  *block = (struct block){p, asked, hak_usable_size(p), align, ++worker->tag};
  MUST(block->usable >= asked, "fewer usable bytes than asked for");
  MUST((uintptr_t)p % align == 0 && (uintptr_t)p % 16 == 0, "alignment");
  MUST(hak_owns(p), "a live block is not owned");
  if (worker->alone) check_overlap(block);
  fill(block);
  __atomic_fetch_add(&g_live, block->usable, __ATOMIC_RELAXED);
}

static void forget(struct block *block) {
  __atomic_fetch_sub(&g_live, block->usable, __ATOMIC_RELAXED);
  block->p = NULL;
}

static void check(const struct block *block) {
  if (block->p == NULL) return;
  MUST(is_intact(block, block->p, block->usable), "contents");
  MUST(hak_usable_size(block->p) == block->usable, "the usable size changed");
}

static void release(struct worker *worker, struct block *block) {
  if (block->p == NULL) return;
  check(block);
  void *p = block->p;
  forget(block);
  switch (worker->tag % 3) {
    case 0: hak_free_sized(p, block->asked); break;
    case 1: hak_free_aligned_sized(p, block->align, block->asked); break;
    default: hak_free(p); break;
  }
}

/* ---- calls ---- */

static bool has_room(size_t n) { return is_absurd(n) || __atomic_load_n(&g_live, __ATOMIC_RELAXED) + n < BYTES_MOST; }

static size_t take_align(struct input *in) { return (size_t)1 << (4 + take(in) % 18); }

static void allocate(struct worker *worker, struct block *block, unsigned how) {
  static const char site[16];
  struct input *in = &worker->in;
  size_t n = take_size(in), align = how >= 4 ? take_align(in) : 16;
  void *p = NULL;
  if (!has_room(n) || !has_room(align)) return;
  release(worker, block);
  switch (how) {
    case 0: case 1: keep(worker, block, hak_malloc(n), n, 16); break;
    case 2:
      p = hak_calloc(n % 7 + 1, n / (n % 7 + 1));
      n = n / (n % 7 + 1) * (n % 7 + 1);
      MUST(p == NULL || is_zero(p, n), "calloc gave a byte that is not zero");
      keep(worker, block, p, n, 16);
      break;
    case 3: keep(worker, block, hak_alloc_at(n, &site[take(in) % 16]), n, 16); break;
    case 4: keep(worker, block, hak_aligned_alloc(align, n), n, align); break;
    case 5: keep(worker, block, hak_memalign(align, n), n, align); break;
    default:
      MUST(hak_posix_memalign(&p, align, n) == 0 || p == NULL, "posix_memalign failed and gave a block");
      keep(worker, block, p, n, align);
      break;
  }
}

static void resize(struct worker *worker, struct block *block) {
  size_t n = take_size(&worker->in);
  struct block was = *block;
  if (!has_room(n)) return;
  check(block);
  uint8_t *p = hak_realloc(was.p, n);
  if (p == NULL && n != 0) {
    MUST(g_may_refuse || is_absurd(n), "realloc refused, though nothing refused memory");
    check(block);
    return;
  }
  if (was.p != NULL) {
    MUST(n == 0 || is_intact(&was, p, was.asked < n ? was.asked : n), "realloc lost contents");
    forget(block);
  }
  if (p != NULL) keep(worker, block, p, n, 16);
}

static void exchange(struct worker *worker, unsigned place) {
  uint8_t *box = &g_mailbox[take(&worker->in) % MAILBOXES];
  worker->place[place] = __atomic_exchange_n(box, worker->place[place], __ATOMIC_ACQ_REL);
  check(&g_block[worker->place[place]]);
}

static void look_around(struct worker *worker, const struct block *block) {
  const void *near = (const void *)((uintptr_t)block->p + ((uintptr_t)take(&worker->in) << 12));
  struct hak_utilization use = {.version = HAK_UTILIZATION_VERSION, .size = sizeof use};
  struct hak_stats stats = {.version = HAK_STATS_VERSION, .size = sizeof stats};
  MUST(hak_get_stats(&stats) == 0, "no statistics");
  hak_owns(near);
  hak_page_utilization(near, &use);
  if (block->p == NULL) return;
  MUST(hak_page_utilization(block->p, &use) == 0, "a live block has no utilization");
  MUST(use.block_bytes >= block->asked && use.slab_out <= use.slab_blocks, "utilization");
}

/* Every setting that may be changed at any time, and values at both of its ends. */
static void change_setting(struct worker *worker) {
  static const char *const values[] = {"0", "1", "on", "off", "4K", "100K", "1M", "16M", "64M", "1T", "speed", "balanced",
                                       "lean", "baseline", "shadow", "evolving", "frozen", "7", "", "99999999999999999999"};
  unsigned number = take(&worker->in), value = take(&worker->in) % (sizeof values / sizeof *values);
  unsigned rows = 0;
  while (hak_settings_row(rows) != NULL) rows++;
  const struct hak_setting_row *row = hak_settings_row(number % rows);
  g_may_refuse |= strcmp(row->name, "hard_limit") == 0;
  int error = hak_set(row->name, values[value]);
  MUST(error == 0 || error == EINVAL || error == EPERM || error == ENOTSUP, "hak_set's answer");
}

static void limit(struct worker *worker) {
  size_t soft = take_size(&worker->in), hard = take_size(&worker->in);
  g_may_refuse = true;
  int error = hak_set_limit(soft, hard);
  MUST(error == 0 || error == EINVAL, "hak_set_limit's answer");
}

static void let_pass(struct worker *worker) {
  uint64_t ns = (uint64_t)1000 << take(&worker->in) % 31;
  __atomic_fetch_add(&g_passed_ns, ns, __ATOMIC_RELAXED);
}

static void refuse(struct worker *worker) {
  g_may_refuse = true;
  __atomic_store_n(&g_refusals, take(&worker->in) % 16, __ATOMIC_RELAXED);
}

static void step(struct worker *worker);

/* The child checks every block, goes on with its part of the input, and frees all. */
static void fork_here(struct worker *worker) {
  if (!worker->alone || g_forks++ >= FORKS_MOST) return;
  unsigned steps = take(&worker->in) % 32;
  pid_t child = fork();
  if (child == 0) {
    for (unsigned n = 0; n < steps; n++) step(worker);
    for (unsigned n = 0; n < PLACES + MAILBOXES; n++) release(worker, &g_block[n]);
    _exit(0);
  }
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  MUST(status == 0, "a fork's child");
}

static void step(struct worker *worker) {
  unsigned what = take(&worker->in), place = take(&worker->in) % OWN;
  struct block *block = &g_block[worker->place[place]];
  switch (what % 32) {
    case 0: case 1: case 2: case 3: case 4: case 5: case 6: case 7: allocate(worker, block, what % 8); break;
    case 8: case 9: case 10: case 11: resize(worker, block); break;
    case 12: case 13: case 14: case 15: case 16: release(worker, block); break;
    case 17: case 18: case 19: case 20: exchange(worker, place); break;
    case 21: look_around(worker, block); break;
    case 22: hak_trim(take_size(&worker->in)); break;
    case 23: change_setting(worker); break;
    case 24: limit(worker); break;
    case 25: case 26: let_pass(worker); break;
    case 27: refuse(worker); break;
    case 28: fork_here(worker); break;
    case 29: hak_keep_at(block, take_size(&worker->in)); break;
    case 30: worker->ends = true; break;
    default: check(block); break;
  }
}

/* ---- threads ---- */

static void *run_worker(void *argument) {
  struct worker *worker = argument;
  for (;;) {
    sem_wait(&worker->go);
    do step(worker);
    while (!worker->alone && worker->in.at < worker->in.end);
    bool ends = worker->ends;
    if (ends) return NULL;
    sem_post(&worker->done);
  }
}

static void start(struct worker *worker) {
  if (worker->runs) return;
  worker->ends = false;
  worker->runs = pthread_create(&worker->thread, NULL, run_worker, worker) == 0;
  MUST(worker->runs, "no thread");
}

static void begin(struct worker *worker) {
  start(worker);
  sem_post(&worker->go);
}

/* A thread that ends says so by ending. */
static void await(struct worker *worker) {
  while (sem_trywait(&worker->done) != 0) {
    if (!__atomic_load_n(&worker->ends, __ATOMIC_ACQUIRE)) {
      sched_yield();
      continue;
    }
    pthread_join(worker->thread, NULL);
    worker->runs = worker->ends = false;
    while (sem_trywait(&worker->done) == 0) {
    }
    return;
  }
}

static void run_in_turns(struct input in) {
  while (in.at < in.end) {
    struct worker *worker = &g_worker[take(&in) % THREADS];
    worker->in = in;
    worker->alone = true;
    if (worker->number == 0) step(worker);
    else begin(worker), await(worker);
    worker->ends = false;
    in = worker->in;
  }
}

static void run_at_once(struct input in) {
  size_t part = (size_t)(in.end - in.at) / THREADS;
  for (unsigned n = 0; n < THREADS; n++) {
    struct worker *worker = &g_worker[n];
    worker->in = (struct input){in.at + n * part, in.at + (n + 1) * part};
    worker->alone = false;
    if (n != 0) begin(worker);
  }
  while (g_worker[0].in.at < g_worker[0].in.end) step(&g_worker[0]);
  g_worker[0].ends = false;
  for (unsigned n = 1; n < THREADS; n++) await(&g_worker[n]);
}

/* ---- one input ---- */

static struct hak_settings g_first;

static void set_back(void) {
  static const char *const switched[] = {"profile", "off", "guard_bytes", "0", "mode", "baseline", "hard_limit", "0",
                                         "soft_limit", "0", "count_calls", "off"};
  __atomic_store_n(&g_refusals, 0, __ATOMIC_RELAXED);
  for (unsigned n = 0; n < sizeof switched / sizeof *switched; n += 2) hak_set(switched[n], switched[n + 1]);
  g_settings = g_first;
  hak_set("count_calls", "off");
}

static void check_all(void) {
  size_t sum = 0;
  for (struct block *block = g_block; block < g_block + PLACES + MAILBOXES; block++) {
    check(block);
    if (block->p == NULL) continue;
    check_overlap(block);
    if (!hak_guarded_holds(block->p)) sum += block->usable;
  }
  MUST(hak_bytes_in_use() == sum, "the bytes in use are not the sum of the live blocks");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct input in = {data, data + size};
  bool at_once = (take(&in) & 1) != 0;
  g_may_refuse = false;
  g_forks = 0;
  if (at_once) run_at_once(in);
  else run_in_turns(in);
  check_all();
  for (unsigned n = 0; n < PLACES + MAILBOXES; n++) release(&g_worker[n % THREADS], &g_block[n]);
  set_back();
  MUST(hak_bytes_in_use() == 0, "bytes in use without a live block");
  return 0;
}

int LLVMFuzzerInitialize(int *count, char ***words) {
  (void)count, (void)words;
  hak_free(hak_malloc(1));
  g_first = g_settings;
  __atomic_store_n(&g_clock.function, shifted_clock, __ATOMIC_RELAXED);
  for (unsigned n = 0; n < PLACES; n++) g_worker[n / OWN].place[n % OWN] = (uint8_t)n;
  for (unsigned n = 0; n < MAILBOXES; n++) g_mailbox[n] = (uint8_t)(PLACES + n);
  for (unsigned n = 0; n < THREADS; n++) {
    g_worker[n].number = n;
    g_worker[n].tag = (uint64_t)n << 32;
    sem_init(&g_worker[n].go, 0, 0);
    sem_init(&g_worker[n].done, 0, 0);
  }
  return 0;
}
