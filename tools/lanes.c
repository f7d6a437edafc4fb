/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lanes.c: see lanes.h.
 *
 * what      Copies the library's thread-local variables in and out. The functions of os/thread.h and libc's key
 *           functions are defined here.
 */
#define _GNU_SOURCE
#include "cache/context.h"
#include "kernel.h"
#include "lanes.h"
#include "os/self.h"
#include "os/alone.h"
#include "os/thread.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { stack_bytes = 256 << 10 };
#define NEVER UINT64_MAX

struct lane {
  struct hak_context *context;
  struct hak_self self;
  void *key; /* NULL: the library has set no exit hook */
};

static struct {
  struct lane *lane;
  struct lane *now; /* the current lane */
  uint32_t number;
  bool several;
  void (*at_end)(void *key);
} lanes;

static struct {
  ucontext_t own, caller;
  void (*run)(void);
  struct hak_os_thread *thread; /* NULL: no background thread */
  const uint32_t *word;         /* the word on which the background thread sleeps */
  uint64_t due_ms, steps;
  struct lane lane;
  char *stack;
  bool inside;
} helper;

static void *pages_for(size_t bytes)
{
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (pages != MAP_FAILED)
    return pages;
  fputs("hak_model: no memory for the threads of the trace\n", stderr);
  exit(1);
}

/* ---- the threads of the trace ---- */

static const struct lane fresh = {.context = (struct hak_context *)&g_empty_context};

static void put_in(struct lane *lane)
{
  if (lanes.now != NULL) {
    lanes.now->context = hak_context;
    lanes.now->self = hak_self;
  }
  lanes.now = lane;
  hak_context = lane->context;
  hak_self = lane->self;
}

void lanes_make(uint32_t threads)
{
  lanes.lane = pages_for(threads * sizeof *lanes.lane);
  for (uint32_t i = 0; i < threads; i++)
    lanes.lane[i] = fresh;
  helper.stack = pages_for(stack_bytes);
  lanes.lane[0].context = hak_context; /* earlier calls belong to the first thread */
  lanes.lane[0].self = hak_self;
  lanes.lane[0].key = lanes.now != NULL ? lanes.now->key : NULL;
  lanes.now = NULL;
  lanes_enter(0);
}

static void *ends_at_once(void *unused)
{
  return unused;
}

/* Starts a thread of libc, so that libc tells the library of several threads. */
static void tell_libc(void)
{
  pthread_t thread;
  if (pthread_create(&thread, NULL, ends_at_once, NULL) == 0)
    pthread_join(thread, NULL);
  lanes.several = true;
}

void lanes_enter(uint32_t lane)
{
  if (lane != 0 && !lanes.several)
    tell_libc();
  lanes.number = lane;
  if (lanes.now != &lanes.lane[lane])
    put_in(&lanes.lane[lane]);
}

void lanes_end(void)
{
  void *key = lanes.now->key;
  lanes.now->key = NULL;
  if (key != NULL && lanes.at_end != NULL)
    lanes.at_end(key);
}

int __wrap_pthread_key_create(pthread_key_t *key, void (*at_end)(void *value));
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

int __wrap_pthread_key_create(pthread_key_t *key, void (*at_end)(void *value))
{
  *key = 0;
  lanes.at_end = at_end;
  return 0;
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
  static struct lane before; /* until lanes_make */
  (void)key;
  if (lanes.now == NULL)
    lanes.now = &before;
  lanes.now->key = (void *)value;
  return 0;
}

/* ---- the background thread ---- */

static void run_helper(void)
{
  helper.run();
  hak_store_release(&helper.thread->id, 0);
  helper.thread = NULL;
}

static void begin_helper(void)
{
  getcontext(&helper.own);
  helper.own.uc_stack.ss_sp = helper.stack;
  helper.own.uc_stack.ss_size = stack_bytes;
  helper.own.uc_link = &helper.caller;
  makecontext(&helper.own, run_helper, 0);
}

/* Runs the background thread until it sleeps or ends. */
static void step(void)
{
  struct lane *caller = lanes.now;
  put_in(&helper.lane);
  helper.inside = true;
  helper.due_ms = NEVER;
  helper.steps++;
  swapcontext(&helper.caller, &helper.own);
  helper.inside = false;
  put_in(caller);
}

void lanes_let_helper_run(uint64_t ns)
{
  const uint64_t ns_per_ms = 1000000;
  while (helper.thread != NULL && helper.due_ms <= ns / ns_per_ms) {
    if (helper.due_ms > kernel_clock_ms())
      kernel_set_clock(helper.due_ms * ns_per_ms);
    step();
  }
}

uint64_t lanes_helper_steps(void)
{
  return helper.steps;
}

bool hak_os_thread_start(struct hak_os_thread *thread, void (*run)(void))
{
  helper.lane = (struct lane){0};
  helper.run = run;
  helper.thread = thread;
  helper.due_ms = kernel_clock_ms();
  thread->id = 1;
  begin_helper();
  return true;
}

void hak_os_thread_join(struct hak_os_thread *thread)
{
  while (hak_load_acquire(&thread->id) != 0)
    step();
}

void hak_os_wait(const uint32_t *word, uint32_t seen, uint64_t ms)
{
  if (!helper.inside || hak_load(word) != seen)
    return;
  helper.word = word;
  helper.due_ms = ms == NEVER ? NEVER : kernel_clock_ms() + (ms != 0 ? ms : 1);
  swapcontext(&helper.own, &helper.caller);
}

void hak_os_wake(const uint32_t *word)
{
  if (helper.thread != NULL && !helper.inside && helper.word == word)
    helper.due_ms = kernel_clock_ms();
}

/* ---- further functions of os/thread.h and os/alone.h ---- */

void hak_os_thread_vanish(struct hak_os_thread *thread)
{
  (void)thread;
}

void hak_os_thread_forget(struct hak_os_thread *thread)
{
  thread->id = thread->was = 0;
}

bool hak_is_first_thread(void)
{
  return lanes.number == 0;
}

void hak_os_find_filter(void)
{
}

bool hak_os_is_filtered(void)
{
  return false;
}

bool hak_os_filter_came(void)
{
  return false;
}

bool hak_os_look_for_filter(void)
{
  return false;
}

uint32_t hak_os_threads_seen(void)
{
  return 0; /* not readable: the lanes with magazines count */
}

uint64_t hak_os_block_signals(void)
{
  return 0;
}

void hak_os_unblock_signals(uint64_t before)
{
  (void)before;
}

void hak_os_rest(void)
{
}
