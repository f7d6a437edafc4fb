/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* crew.c: see crew.h.
 *
 * what      A table has a word for each block number: empty, awaited, or the block. Only a block made by one thread
 *           and freed by a different thread is stored by an exchange, so that a waiting thread is woken.
 * locks     `lock`, for starting and joining threads; at the end alone, the caller waits for it.
 * orders    Epoch e begins when all epochs before e - 1 are done. The earliest outstanding call can always proceed:
 *           calls wait only for earlier calls.
 * hot path  carry_out: all figures include some nanoseconds of carry_out per call.
 */
#define _GNU_SOURCE
#include "crew.h"
#include "meter.h"
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { looks = 200, page_bytes = 4096, stack_bytes = 1 << 20, least_sleep_ns = 50000, least_align = sizeof(void *) };

/* Values of a word of the table that are not a block. */
enum { empty = 0, awaited = 1, failed = 2 };

typedef _Atomic uintptr_t word;

static struct {
  const struct plan *plan;
  enum touch touch;
  word *block;
  atomic_uint *left; /* by epoch: threads with outstanding calls */
  atomic_uint done;  /* number of completed epochs */
  atomic_uint waiters;
  atomic_ulong failures, waited_ns;
  uint64_t start_ns;
  pthread_mutex_t lock;
  pthread_t *thread; /* by number */
  uint32_t *alive;   /* threads not joined yet */
  uint32_t starts, n_alive;
  atomic_uint wishes; /* number of requests to advance */
  crew_ask_as *ask_as;
} crew = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void sleep_while(void *at, unsigned value)
{
  syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_all(void *at)
{
  syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ---- blocks ---- */

static uintptr_t look_and_sleep(word *at)
{
  for (int i = 0; i < looks; i++) {
    uintptr_t found = atomic_load_explicit(at, memory_order_acquire);
    if (found > awaited)
      return found;
    sched_yield();
  }
  uintptr_t found = empty;
  atomic_compare_exchange_strong(at, &found, awaited);
  while ((found = atomic_load_explicit(at, memory_order_acquire)) <= awaited)
    sleep_while(at, awaited); /* the low half of the word: x86-64 */
  return found;
}

/* Waits for the block of a different thread. The clock is read only if the block is not there yet. */
static uintptr_t await(word *at)
{
  uintptr_t found = atomic_load_explicit(at, memory_order_acquire);
  if (found > awaited)
    return found;
  uint64_t since = meter_thread_ns();
  found = look_and_sleep(at);
  atomic_fetch_add(&crew.waited_ns, meter_thread_ns() - since);
  return found;
}

static inline void *take(const struct call *call)
{
  word *at = &crew.block[call->old];
  uintptr_t found = call->foreign ? await(at) : atomic_load_explicit(at, memory_order_relaxed);
  atomic_store_explicit(at, empty, memory_order_relaxed);
  return found <= failed ? NULL : (void *)found;
}

static inline void put(const struct call *call, void *block)
{
  word *at = &crew.block[call->block];
  uintptr_t new = (uintptr_t)block;
  if (block == NULL) {
    atomic_fetch_add(&crew.failures, 1);
    new = failed;
  }
  if (!call->handed)
    atomic_store_explicit(at, new, memory_order_relaxed);
  else if (atomic_exchange(at, new) == awaited)
    wake_all(at);
}

static void touch_pages(volatile char *block, size_t size)
{
  for (size_t at = 0; at < size; at += page_bytes)
    block[at] = 1;
  block[size - 1] = 1;
}

static inline void touch(void *block, size_t size)
{
  if (crew.touch == touch_none || block == NULL || size == 0)
    return;
  if (crew.touch == touch_first || size <= page_bytes)
    *(volatile char *)block = 1;
  else
    touch_pages(block, size);
}

/* ---- calls ---- */

static void *aligned(const struct call *call)
{
  void *block;
  size_t alignment = (size_t)1 << call->align_log;
  if (alignment < least_align)
    alignment = least_align;
  return posix_memalign(&block, alignment, call->size) == 0 ? block : NULL;
}

static void *made(const struct call *call)
{
  switch (call->operation) {
  case HAK_OP_ALLOC:
    return malloc(call->size);
  case HAK_OP_CALLOC:
    return calloc(1, call->size);
  case HAK_OP_ALIGNED:
    return aligned(call);
  default:
    return call->old == 0 ? malloc(call->size) : realloc(take(call), call->size);
  }
}

static inline void make(const struct call *call)
{
  void *block = made(call);
  touch(block, call->size);
  put(call, block);
}

static inline void carry_out(const struct call *call)
{
  if (call->operation == HAK_OP_FREE)
    free(take(call));
  else
    make(call);
}

static void wait_until(uint64_t due)
{
  uint64_t now = meter_now_ns();
  uint64_t at = crew.start_ns + due;
  if (at < now + least_sleep_ns)
    return;
  struct timespec until = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
    ;
}

/* Makes each call at the recorded time, if known, and from the recorded call site. */
static void carry_out_as_it_was(const struct part *part, size_t from, size_t to)
{
  for (size_t i = from; i < to; i++) {
    if (part->due != NULL)
      wait_until(part->due[i]);
    if (part->site != NULL)
      crew.ask_as(part->site[i].address, part->site[i].depth);
    carry_out(&part->call[i]);
  }
}

static void carry_out_all(const struct part *part, size_t from, size_t to)
{
  for (size_t i = from; i < to; i++)
    carry_out(&part->call[i]);
}

/* ---- epochs and threads ---- */

static void *thread_main(void *number);

/* Joins threads whose last epoch is done, before new threads begin. Such a thread is about to end and waits for no
 * call. */
static void join_ended(uint32_t done)
{
  uint32_t left = 0;
  for (uint32_t i = 0; i < crew.n_alive; i++) {
    uint32_t number = crew.alive[i];
    const struct part *part = &crew.plan->part[number];
    if (part->stretch[part->stretches - 1].epoch >= done || pthread_equal(crew.thread[number], pthread_self()))
      crew.alive[left++] = number;
    else
      pthread_join(crew.thread[number], NULL);
  }
  crew.n_alive = left;
}

static void start_thread(uint32_t number)
{
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  int wrong = pthread_create(&crew.thread[number], &attributes, thread_main, (void *)(uintptr_t)number);
  pthread_attr_destroy(&attributes);
  if (wrong != 0) {
    fprintf(stderr, "hak_replay: thread %u cannot be started: %s\n", number, strerror(wrong));
    _exit(1);
  }
  crew.alive[crew.n_alive++] = number;
}

/* Starts the threads whose first epoch may begin. Thread 0 is the caller's own. */
static void start_due(uint32_t done)
{
  const struct plan *plan = crew.plan;
  for (; crew.starts < plan->starts; crew.starts++) {
    uint32_t number = plan->order[crew.starts];
    if (plan->part[number].stretch[0].epoch > done + 1)
      return;
    if (number != 0)
      start_thread(number);
  }
}

static void advance_locked(void)
{
  unsigned done = atomic_load(&crew.done);
  while (done < crew.plan->epochs && atomic_load(&crew.left[done]) == 0)
    done++;
  join_ended(done);
  start_due(done);
  atomic_store(&crew.done, done);
  if (atomic_load(&crew.waiters) > 0)
    wake_all(&crew.done);
}

/* A thread that finds the lock held leaves the wish to the lock's holder: the holder may be joining this very
 * thread. */
static void advance(void)
{
  unsigned wishes = atomic_fetch_add(&crew.wishes, 1) + 1;
  for (unsigned seen = wishes - 1; seen != wishes && pthread_mutex_trylock(&crew.lock) == 0;) {
    seen = atomic_load(&crew.wishes);
    advance_locked();
    pthread_mutex_unlock(&crew.lock);
    wishes = atomic_load(&crew.wishes);
  }
}

static void wait_for_epochs(uint32_t wanted)
{
  unsigned done;
  atomic_fetch_add(&crew.waiters, 1);
  while ((done = atomic_load(&crew.done)) < wanted)
    sleep_while(&crew.done, done);
  atomic_fetch_sub(&crew.waiters, 1);
}

static void run_part(const struct part *part)
{
  size_t from = 0;
  for (size_t i = 0; i < part->stretches; i++) {
    const struct stretch *stretch = &part->stretch[i];
    if (stretch->epoch > 0)
      wait_for_epochs(stretch->epoch - 1);
    bool plain = part->due == NULL && part->site == NULL;
    (plain ? carry_out_all : carry_out_as_it_was)(part, from, from + stretch->calls);
    from += stretch->calls;
    if (atomic_fetch_sub(&crew.left[stretch->epoch], 1) == 1)
      advance();
  }
}

static void *thread_main(void *number)
{
  run_part(&crew.plan->part[(uintptr_t)number]);
  return NULL;
}

static void join_all(void)
{
  wait_for_epochs(crew.plan->epochs);
  pthread_mutex_lock(&crew.lock);
  join_ended(crew.plan->epochs);
  pthread_mutex_unlock(&crew.lock);
}

/* ---- the whole ---- */

void crew_make(const struct plan *plan, enum touch touch, crew_ask_as *ask_as)
{
  crew.plan = plan;
  crew.ask_as = ask_as;
  crew.touch = touch;
  crew.block = plan_pages(((size_t)plan->blocks + 1) * sizeof *crew.block);
  crew.left = plan_pages(plan->epochs * sizeof *crew.left);
  crew.thread = plan_pages(plan->threads * sizeof *crew.thread);
  crew.alive = plan_pages(plan->threads * sizeof *crew.alive);
}

static void begin_again(void)
{
  for (uint32_t e = 0; e < crew.plan->epochs; e++)
    atomic_store(&crew.left[e], crew.plan->busy[e]);
  atomic_store(&crew.done, 0);
  atomic_store(&crew.failures, 0);
  atomic_store(&crew.waited_ns, 0);
  crew.starts = 0;
  crew.start_ns = meter_now_ns();
}

struct outcome crew_run(void)
{
  begin_again();
  advance();
  run_part(&crew.plan->part[0]);
  join_all();
  return (struct outcome){atomic_load(&crew.failures), atomic_load(&crew.waited_ns)};
}

void crew_clear(void)
{
  for (size_t b = 1; b <= crew.plan->blocks; b++) {
    uintptr_t left = atomic_exchange(&crew.block[b], empty);
    if (left > failed)
      free((void *)left);
  }
}
