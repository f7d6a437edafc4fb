/* thread.c: threads begin and end; the process starts.
 *
 * what      See thread.h. The exit hook is a pthread key made at load: the first 32 keys need no memory per thread,
 *           where __cxa_thread_atexit_impl allocates.
 * owner     g_thread, hak_context.
 * locks     None of its own.
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
#include "core/range.h"
#include "core/rent.h"
#include "front/helper.h"
#include "front/magazine.h"
#include "front/pressure.h"
#include "front/registry.h"
#include "hakmem/hakmem.h"
#include "os/fork.h"
#include "os/os.h"
#include "os/self.h"

const struct hak_context g_empty_context;
__thread struct hak_context *hak_context = (struct hak_context *)&g_empty_context;

static struct {
  bool have_key;
  pthread_key_t key;
} g_thread;

/* A key from 32 up makes libc call calloc, which may come in again: the context is complete, and no lock is held. */
static void remember_exit(struct hak_context *x) {
  hak_self.inside = 0;
  if (g_thread.have_key) pthread_setspecific(g_thread.key, x);
  hak_self.inside = 1;
}

struct hak_context *hak_thread_begin(void) {
  if (hak_self.gone) return NULL;
  struct hak_context *x = hak_registry_claim();
  if (x == NULL) return NULL;
  hak_context = x;
  hak_magazine_mark(x);
  remember_exit(x);
  return x;
}

void hak_thread_bury(struct hak_context *x, struct hak_fault *fault) {
  hak_magazine_close_all(x, fault);
  hak_registry_retire(x);
}

/* The thread's other destructors may still allocate and free: they do so without a context. */
static void thread_exits(void *context) {
  hak_self.inside = 1;
  hak_self.gone = 1;
  hak_context = (struct hak_context *)&g_empty_context;
  struct hak_fault fault;
  hak_thread_bury(context, &fault);
  hak_helper_thread_ended();
  hak_self.inside = 0;
  hak_slab_report(&fault, NULL);
}

unsigned g_settled;

void hak_thread_settle(void) {
  unsigned not_yet = 0;
  if (!hak_cas_acquire(&g_settled, &not_yet, 1)) return;
  hak_counters_start();
  hak_store(&g_rent.now_ms, hak_os_now_ms());
  hak_knobs_load(environ, &hak_options == NULL ? NULL : hak_options);
  if (g_knobs.counters_file[0] != '\0') hak_counters_to_file(g_knobs.counters_file);
  if (hak_knob(count)) hak_magazine_mark_all();
  hak_pressure_reset();
}

/* Before main, after libc's own start. */
__attribute__((constructor(101))) static void process_starts(void) {
  hak_fork_start();
  g_thread.have_key = pthread_key_create(&g_thread.key, thread_exits) == 0;
  if (g_thread.have_key && hak_context != &g_empty_context) pthread_setspecific(g_thread.key, hak_context);
  hak_thread_settle();
}
