/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trace.c: a trace of every call of the program.
 *
 * what      Threads, forks, time and place of an event; see trace.h.
 * owner     g_trace; tracer and busy, of each thread.
 */
#include "record/trace.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "base/fmt.h"
#include "os/fork.h"
#include "os/lock.h"
#include "os/os.h"
#include "os/self.h"
#include "os/thread.h"
#include "record/trace_chunks.h"
#include "record/trace_modules.h"
#include "tables/meta.h"

enum {
  LEAST_ROOM = 512,  /* for events, in a chunk that another thread left partly used */
  KNOWN = 64,        /* pieces of 64 KiB of code in known mappings, per thread */
  PLACE_SHIFT = 16
};

struct hak_tracer {
  struct hak_trace_encoder encoder;
  struct hak_chunk chunk;
  struct hak_trace_head *head; /* the open record; NULL: no open record */
  uint64_t generation;         /* of the tracer's file, in the numbers of g_trace */
  uint64_t serial, lost;       /* records begun; events lost since the last record */
  uint64_t sizes;              /* of the open record, equal to its head's */
  struct hak_tracer *next;
  uint32_t thread;
  uint32_t known[KNOWN];       /* addresses >> PLACE_SHIFT; 0: free */
};
_Static_assert(sizeof(struct hak_tracer) <= 1024, "one metadata piece");

static HAK_RARE struct {
  struct hak_lock lock;
  uint64_t generation; /* 1 + generation of forks of the present file; 0: no file yet */
  bool dead;           /* no file can be made */
  bool shut;           /* in a sandbox: no further file */
  uint32_t threads;
  struct hak_tracer *tracers;
} g_trace;

static HAK_RARE const char *g_stem;

static HAK_RARE struct {
  struct hak_lock lock;
  struct hak_tracer tracer;
} g_late; /* for threads whose exit hook ran */

static __thread struct hak_tracer *g_tracer;
static __thread bool g_busy;
static __thread uint64_t g_lost_early; /* events lost in a fork's child that has no file yet */

/* A relative path would name another file after chdir, or in an executed program. */
static void say_relative(const char *stem) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: trace_file=");
  hak_line_foreign(&line, stem);
  hak_line_text(&line, " ignored: it must be an absolute path (/...); this process is not traced\n");
  hak_os_write_err(line.text, line.used);
}

bool hak_trace_allow(const char *stem) {
  g_stem = stem;
  if (stem[0] == '/') return true;
  say_relative(stem);
  return false;
}

uint64_t hak_trace_now(void) { return hak_os_now_ns(); }

/* ---- the process ---- */

static bool is_file_current(void) {
  return !hak_fork_happened() && hak_load_acquire(&g_trace.generation) == 1 + hak_load(&g_fork.generation);
}

/* A signal handler may fork, and the child continues inside the interrupted code. So signals are blocked while chunks
 * are taken and records are begun. A sandbox may forbid the kernel call. */
static uint64_t block_signals(void) { return g_trace.shut ? 0 : hak_os_block_signals(); }

static void unblock_signals(uint64_t before) {
  if (!g_trace.shut) hak_os_unblock_signals(before);
}

/* In a fork's child all chunks are the parent's. Tracers of the parent's further threads leak. */
static void drop_tracers(void) {
  for (struct hak_tracer *t = g_trace.tracers; t != NULL; t = t->next) hak_chunks_drop(&t->chunk);
  hak_store(&g_trace.tracers, NULL);
  hak_chunks_drop(&g_late.tracer.chunk);
}

static bool begin_trace_file(void) {
  bool child = g_trace.generation != 0;
  uint32_t parent = child ? hak_chunks_pid() : 0;
  if (child) drop_tracers();
  hak_chunks_forget();
  g_trace.threads = 0;
  if ((child && g_trace.shut) || !hak_chunks_begin(g_stem, parent)) return false;
  hak_modules_begin();
  return true;
}

static HAK_NOINLINE void begin_process_trace(void) {
  uint64_t signals = block_signals();
  hak_lock_take(&g_trace.lock);
  uint64_t generation = 1 + hak_load(&g_fork.generation);
  if (g_trace.generation != generation) {
    hak_store(&g_trace.dead, !begin_trace_file());
    hak_store_release(&g_trace.generation, generation);
  }
  hak_lock_drop(&g_trace.lock);
  unblock_signals(signals);
}

/* True if this process has a file; begins a file in a fork's child. */
static bool is_ready(void) {
  if (HAK_UNLIKELY(hak_fork_happened())) hak_fork_notice();
  if (HAK_UNLIKELY(hak_load_acquire(&g_trace.generation) != 1 + hak_load(&g_fork.generation))) begin_process_trace();
  return !hak_load(&g_trace.dead);
}

void hak_trace_try(void) {
  g_busy = true;
  if (g_trace.generation == 0) hak_chunks_try(g_stem);
  g_busy = false;
}

void hak_trace_enter_sandbox(void) {
  g_busy = true;
  if (is_ready()) hak_chunks_reserve();
  hak_modules_end();
  g_trace.shut = true;
  g_busy = false;
}

/* ---- a thread ---- */

/* True if the tracer is for the present file. A thread's g_tracer is then on the list, too, wherever a signal handler
 * forked. */
static bool is_of_file(const struct hak_tracer *t) { return t->generation == hak_load(&g_trace.generation); }

static void begin_tracer(struct hak_tracer *t) {
  *t = (struct hak_tracer){
      .generation = hak_load(&g_trace.generation), .thread = hak_add(&g_trace.threads, 1), .lost = g_lost_early};
  if (g_lost_early != 0) hak_chunks_lose(g_lost_early);
  g_lost_early = 0;
}

/* Puts the tracer on the list by which a fork's child finds the chunk. */
static void enlist(struct hak_tracer *t) {
  hak_lock_take(&g_trace.lock);
  t->next = g_trace.tracers;
  hak_store_release(&g_trace.tracers, t);
  hak_lock_drop(&g_trace.lock);
}

static void strike_out(struct hak_tracer *t) {
  hak_lock_take(&g_trace.lock);
  struct hak_tracer **at = &g_trace.tracers;
  while (*at != NULL && *at != t) at = &(*at)->next;
  if (*at == t) hak_store_release(at, t->next);
  hak_lock_drop(&g_trace.lock);
}

static void close_events(struct hak_tracer *t) {
  if (t->head == NULL) return;
  hak_chunks_close(&t->chunk, (uint32_t)t->sizes);
  t->head = NULL;
  hak_chunks_put(&t->chunk);
}

/* Opens a record. The process record counts lost events until a record of events takes the count over. */
static bool open_record_blocked(struct hak_tracer *t, uint64_t now) {
  if (!is_file_current() || !is_of_file(t)) return false;
  close_events(t);
  if (!hak_chunks_take(&t->chunk, LEAST_ROOM, now)) return false;
  struct hak_trace_head with = {
      .kind = HAK_TRACE_EVENTS, .thread = t->thread, .ns = now, .lost = t->lost, .serial = t->serial++};
  t->head = hak_chunks_record(&t->chunk, &with);
  t->sizes = 0;
  hak_encode_start(&t->encoder, now);
  if (t->lost != 0) hak_chunks_find(t->lost);
  t->lost = 0;
  return true;
}

static HAK_NOINLINE bool open_events(struct hak_tracer *t, uint64_t now) {
  uint64_t signals = block_signals();
  bool open = open_record_blocked(t, now);
  unblock_signals(signals);
  return open;
}

static bool has_room(const struct hak_tracer *t) {
  size_t used = t->chunk.used + sizeof *t->head + (uint32_t)t->sizes;
  return t->head != NULL && used + HAK_TRACE_EVENT_MOST <= HAK_CHUNK_BYTES;
}

/* Checks the file under blocked signals: the child of a handler's fork would write into its parent's file. */
static void learn_place(const struct hak_tracer *t, uint64_t site, uint64_t now) {
  uint64_t signals = block_signals();
  if (is_file_current() && is_of_file(t)) hak_modules_learn(site, now);
  unblock_signals(signals);
}

static void know_place(struct hak_tracer *t, uint64_t site, uint64_t now) {
  uint32_t place = (uint32_t)(site >> PLACE_SHIFT);
  if (HAK_LIKELY(t->known[place % KNOWN] == place)) return;
  if (!hak_modules_are_known(site)) learn_place(t, site, now);
  t->known[place % KNOWN] = place;
}

/* In the child of a handler's fork meanwhile, the event is the parent's, and nothing is appended. */
static void append_event(struct hak_tracer *t, const uint8_t *bytes, size_t n) {
  if (!is_file_current() || !is_of_file(t)) return;
  hak_chunks_append(t->head, bytes, n, t->sizes);
  t->sizes += n + ((uint64_t)1 << 32);
}

static void lose_event(struct hak_tracer *t) {
  if (!is_file_current()) return;
  t->lost++;
  hak_chunks_lose(1);
}

/* Times never fall: an event that began before the previous event gets the previous event's time. */
static void write_event(struct hak_tracer *t, struct hak_trace_event *event, uint64_t now) {
  uint8_t bytes[HAK_TRACE_EVENT_MOST];
  know_place(t, event->site, now);
  if (HAK_UNLIKELY(!has_room(t)) && !open_events(t, hak_max(event->ns, t->encoder.ns))) {
    lose_event(t);
    return;
  }
  event->ns = hak_max(event->ns, t->encoder.ns);
  event->took = now > event->ns ? now - event->ns : 0;
  append_event(t, bytes, hak_encode(&t->encoder, event, bytes));
}

/* The calling thread's tracer; NULL: no memory. */
static struct hak_tracer *own_tracer(void) {
  struct hak_tracer *t = g_tracer;
  if (HAK_LIKELY(t != NULL && is_of_file(t))) return t;
  if (t == NULL) t = hak_meta_get(sizeof *t);
  if (t == NULL) return NULL;
  begin_tracer(t);
  enlist(t);
  g_tracer = t;
  return t;
}

static void write_late(struct hak_trace_event *event) {
  struct hak_tracer *t = &g_late.tracer;
  hak_lock_take(&g_late.lock);
  if (!is_of_file(t) || t->serial == 0) begin_tracer(t);
  uint64_t now = hak_os_now_ns();
  if (event->op != HAK_TRACE_RESIZE) event->ns = now;
  write_event(t, event, now);
  hak_lock_drop(&g_late.lock);
}

static void write_own(struct hak_trace_event *event) {
  struct hak_tracer *t = own_tracer();
  uint64_t now = hak_os_now_ns();
  if (event->op != HAK_TRACE_RESIZE) event->ns = now;
  if (HAK_LIKELY(t != NULL)) write_event(t, event, now);
  else hak_chunks_lose(1);
}

void hak_trace_thread_ends(void) {
  struct hak_tracer *t = g_tracer;
  if (t == NULL) return;
  g_busy = true;
  if (is_ready() && is_of_file(t)) close_events(t);
  strike_out(t);
  g_tracer = NULL;
  hak_meta_put(t, sizeof *t);
  g_busy = false;
}

/* ---- an event ---- */

/* Counts an event inside an event. In a child that a signal handler forked and that still runs in the handler, the
 * mapped file is the parent's. */
static void lose_nested(void) {
  if (is_file_current()) hak_chunks_lose(1);
  else g_lost_early++;
}

static void record_event(struct hak_trace_event *event, struct hak_trace_place place) {
  if (HAK_UNLIKELY(g_busy)) {
    lose_nested();
    return;
  }
  g_busy = true;
  __asm__ volatile("" ::: "memory");
  event->site = (uintptr_t)place.site;
  event->depth = hak_self_depth(place.frame);
  if (is_ready()) {
    if (HAK_UNLIKELY(hak_self.exiting)) write_late(event);
    else write_own(event);
  }
  __asm__ volatile("" ::: "memory");
  g_busy = false;
}

void hak_trace_came(enum hak_trace_op op, const void *p, size_t n, size_t align, struct hak_trace_place place) {
  struct hak_trace_event event = {.op = op, .came = (uintptr_t)p, .size = n, .align = align};
  record_event(&event, place);
}

void hak_trace_went(const void *p, struct hak_trace_place place) {
  struct hak_trace_event event = {.op = HAK_TRACE_FREE, .went = (uintptr_t)p};
  record_event(&event, place);
}

void hak_trace_resized(const void *p, const void *q, size_t n, uint64_t began, struct hak_trace_place place) {
  struct hak_trace_event event = {
      .op = HAK_TRACE_RESIZE, .ns = began, .went = (uintptr_t)p, .came = (uintptr_t)q, .size = n};
  record_event(&event, place);
}
