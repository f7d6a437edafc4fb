/* thread.c: threads begin and end; the process starts.
 *
 * what      See thread.h. The exit hook is a pthread key made at load: the first 32 keys need no memory per thread,
 *           where __cxa_thread_atexit_impl allocates.
 * owner     g_threads, hak_context.
 * locks     g_threads.lock. A vanished holder: nothing to rebuild, a context is claimed by one store.
 * orders    See thread.h.
 * hot path  No.
 * failure   See thread.h.
 * not here  Counting calls.
 */
#define _GNU_SOURCE
#include "front/thread.h"

#include <pthread.h>
#include <unistd.h>

#include "core/classes.h"
#include "core/counters.h"
#include "core/knobs.h"
#include "core/meta.h"
#include "core/range.h"
#include "front/magazine.h"
#include "hakmem/hakmem.h"
#include "os/fork.h"
#include "os/lock.h"

const struct hak_context g_empty_context;
__thread struct hak_context *hak_context = (struct hak_context *)&g_empty_context;

static struct {
  struct hak_lock lock;
  struct hak_context *first;
  uint32_t count;
  uint32_t made;
  bool have_key;
  pthread_key_t key;
} g_threads;

struct hak_context *hak_thread_first(void) { return hak_load_acquire(&g_threads.first); }
uint32_t hak_thread_count(void) { return hak_load(&g_threads.count); }

static struct hak_context *make_context_locked(void) {
  struct hak_context *x = hak_meta_get(sizeof *x);
  if (x == NULL) return NULL;
  *x = (struct hak_context){.next = g_threads.first};
  hak_class_table(x->small_class, g_threads.made++ % HAK_COLORS);
  hak_store_release(&g_threads.first, x);
  return x;
}

static struct hak_context *claim_context(void) {
  hak_lock_take(&g_threads.lock);
  struct hak_context *x = g_threads.first;
  while (x != NULL && hak_load_acquire(&x->in_use)) x = x->next;
  if (x == NULL) x = make_context_locked();
  if (x != NULL) {
    x->token = hak_lock_token();
    x->generation = hak_load(&g_fork.generation);
    hak_add(&g_threads.count, 1);
    hak_store_release(&x->in_use, true);
  }
  hak_lock_drop(&g_threads.lock);
  return x;
}

/* A key from 32 up makes libc call calloc, which may come in again: the context is complete, and no lock is held. */
static void remember_exit(struct hak_context *x) {
  hak_self.inside = 0;
  if (g_threads.have_key) pthread_setspecific(g_threads.key, x);
  hak_self.inside = 1;
}

struct hak_context *hak_thread_context(void) {
  if (hak_context != &g_empty_context) return hak_context;
  if (hak_self.gone) return NULL;
  struct hak_context *x = claim_context();
  if (x == NULL) return NULL;
  hak_context = x;
  hak_magazine_mark(x);
  remember_exit(x);
  return x;
}

void hak_thread_bury(struct hak_context *x, struct hak_fault *fault) {
  hak_magazine_close_all(x, fault);
  hak_store_release(&x->in_use, false);
  hak_sub(&g_threads.count, 1); /* last, and added first: a cut must not count a thread out twice */
}

/* The thread's other destructors may still allocate and free: they do so without a context. */
static void thread_exits(void *context) {
  hak_self.inside = 1;
  hak_self.gone = 1;
  hak_context = (struct hak_context *)&g_empty_context;
  struct hak_fault fault;
  hak_thread_bury(context, &fault);
  hak_self.inside = 0;
  if (fault.error != HAK_ERRORS) hak_die(fault.error, fault.p, g_class[hak_range_class(fault.p)].bytes, NULL);
}

unsigned g_settled;

void hak_thread_settle(void) {
  unsigned not_yet = 0;
  if (!hak_cas_acquire(&g_settled, &not_yet, 1)) return;
  hak_counters_start();
  hak_knobs_load(environ, &hak_options == NULL ? NULL : hak_options);
  if (g_knobs.counters_file[0] != '\0') hak_counters_to_file(g_knobs.counters_file);
  if (hak_knob(count)) hak_magazine_mark_all();
}

/* Before main, after libc's own start. */
__attribute__((constructor(101))) static void process_starts(void) {
  hak_fork_start();
  g_threads.have_key = pthread_key_create(&g_threads.key, thread_exits) == 0;
  if (g_threads.have_key && hak_context != &g_empty_context) pthread_setspecific(g_threads.key, hak_context);
  hak_thread_settle();
}
