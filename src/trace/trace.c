/* trace.c: every call of the program, written down.
 *
 * what      Threads, forks, time and place of an event; see trace.h.
 * owner     g_trace; tracer and busy, of each thread.
 */
#include "trace/trace.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "core/meta.h"
#include "os/file.h"
#include "os/fork.h"
#include "os/lock.h"
#include "os/os.h"
#include "os/self.h"
#include "trace/chunks.h"
#include "trace/modules.h"

enum {
  STEM_BYTES = 360,
  LEAST_ROOM = 512,  /* for events, in a chunk that another thread left over */
  KNOWN = 64,        /* pieces of 64 KiB whose mapping is known, per thread */
  PLACE_SHIFT = 16
};
#define DEPTH_MOST ((uintptr_t)1 << 30) /* bytes of stack; more is another stack than the thread's own */

struct hak_tracer {
  struct hak_trace_encoder encoder;
  struct hak_chunk chunk;
  struct hak_trace_head *head; /* the open record; NULL: none */
  uint64_t generation;         /* of forks, in which it was begun */
  uint64_t serial, lost;       /* records that were begun, events that were lost since the last one */
  uint32_t thread, events;
  uint32_t known[KNOWN];       /* 0: none; addresses >> PLACE_SHIFT */
};
_Static_assert(sizeof(struct hak_tracer) <= 1024, "one metadata piece");

static struct {
  struct hak_lock lock;
  uint64_t generation; /* 1 + that of the present file; 0: none yet */
  bool dead;           /* there can be no file */
  bool shut;           /* in a sandbox: no further file */
  uint32_t threads;
} g_trace;

static HAK_RARE char g_stem[STEM_BYTES];

static HAK_RARE struct {
  struct hak_lock lock;
  struct hak_tracer tracer;
} g_late; /* threads whose exit hook ran */

static __thread struct hak_tracer *g_tracer;
static __thread bool g_busy;

bool hak_trace_allow(const char *stem) { return hak_os_whole_path(stem, g_stem, sizeof g_stem); }

uint64_t hak_trace_now(void) { return hak_os_now_ns(); }

/* ---- the process ---- */

static bool begin_file(void) {
  bool child = g_trace.generation != 0;
  if (child && g_trace.shut) return false;
  uint32_t parent = child ? hak_chunks_pid() : 0;
  hak_chunks_forget();
  g_trace.threads = 0;
  if (!hak_chunks_begin(g_stem, parent)) return false;
  hak_modules_begin();
  return true;
}

static HAK_NOINLINE void begin_process(void) {
  hak_lock_take(&g_trace.lock);
  uint64_t generation = 1 + hak_load(&g_fork.generation);
  if (g_trace.generation != generation) {
    hak_store(&g_trace.dead, !begin_file());
    hak_store_release(&g_trace.generation, generation);
  }
  hak_lock_drop(&g_trace.lock);
}

/* Is there a file of this very process? */
static bool is_ready(void) {
  if (HAK_UNLIKELY(hak_fork_happened())) hak_fork_notice();
  if (HAK_UNLIKELY(hak_load_acquire(&g_trace.generation) != 1 + hak_load(&g_fork.generation))) begin_process();
  return !hak_load(&g_trace.dead);
}

void hak_trace_enter_sandbox(void) {
  g_busy = true;
  if (is_ready()) hak_chunks_stock_up();
  hak_modules_end();
  g_trace.shut = true;
  g_busy = false;
}

/* ---- a thread ---- */

/* In a fork's child all that it had is the parent's, and not even mapped. */
static void begin_tracer(struct hak_tracer *t) {
  *t = (struct hak_tracer){.generation = hak_load(&g_fork.generation), .thread = hak_add(&g_trace.threads, 1)};
}

static void close_record(struct hak_tracer *t) {
  if (t->head == NULL) return;
  hak_chunks_close(&t->chunk, t->head);
  hak_chunks_put(&t->chunk);
  t->head = NULL;
}

/* What was lost stands in the process record until there is a record for it. */
static bool open_record(struct hak_tracer *t, uint64_t now) {
  close_record(t);
  if (!hak_chunks_take(&t->chunk, LEAST_ROOM, now)) return false;
  struct hak_trace_head with = {
      .kind = HAK_TRACE_EVENTS, .thread = t->thread, .ns = now, .lost = t->lost, .serial = t->serial++};
  t->head = hak_chunks_record(&t->chunk, &with);
  t->events = 0;
  hak_encode_start(&t->encoder, (uint8_t *)(t->head + 1), now);
  if (t->lost != 0) hak_chunks_find(t->lost);
  t->lost = 0;
  return true;
}

static bool has_room(const struct hak_tracer *t) {
  return t->head != NULL && (char *)t->encoder.at + HAK_TRACE_EVENT_MOST <= t->chunk.base + HAK_CHUNK_BYTES;
}

static void know_place(struct hak_tracer *t, uint64_t site, uint64_t now) {
  uint32_t place = (uint32_t)(site >> PLACE_SHIFT);
  if (HAK_LIKELY(t->known[place % KNOWN] == place)) return;
  hak_modules_know(site, now);
  t->known[place % KNOWN] = place;
}

/* A time that came earlier than the previous event's, as another event came between, is that one's. */
static void write_event(struct hak_tracer *t, struct hak_trace_event *event, uint64_t now) {
  know_place(t, event->site, now);
  if (HAK_UNLIKELY(!has_room(t)) && !open_record(t, hak_max(event->ns, t->encoder.ns))) {
    t->lost++;
    hak_chunks_lose(1);
    return;
  }
  event->ns = hak_max(event->ns, t->encoder.ns);
  event->took = now > event->ns ? now - event->ns : 0;
  hak_encode(&t->encoder, event);
  hak_chunks_grow(t->head, (size_t)(t->encoder.at - (uint8_t *)(t->head + 1)), ++t->events);
}

/* The calling thread's; NULL: there is no memory. */
static struct hak_tracer *own_tracer(void) {
  struct hak_tracer *t = g_tracer;
  if (HAK_UNLIKELY(t == NULL)) t = g_tracer = hak_meta_get(sizeof *t);
  else if (HAK_LIKELY(t->generation == hak_load(&g_fork.generation))) return t;
  if (t != NULL) begin_tracer(t);
  return t;
}

static void write_late(struct hak_trace_event *event) {
  struct hak_tracer *t = &g_late.tracer;
  hak_lock_take(&g_late.lock);
  if (t->generation != hak_load(&g_fork.generation) || t->serial == 0) begin_tracer(t);
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
  if (is_ready() && t->generation == hak_load(&g_fork.generation)) close_record(t);
  g_tracer = NULL;
  hak_meta_put(t, sizeof *t);
  g_busy = false;
}

/* ---- an event ---- */

extern void *__libc_stack_end;

/* Where the stack began that this frame is on: the thread's own lies below its pointer, the first thread's below what
 * the kernel put there. In every run so far from the frame, when the way to it is the same. */
static uint32_t depth_of(const void *frame) {
  uintptr_t at = (uintptr_t)frame, own = (uintptr_t)hak_self_pointer(), first = (uintptr_t)__libc_stack_end;
  uintptr_t base = own > at && (own < first || first < at) ? own : first;
  return base > at && base - at < DEPTH_MOST ? (uint32_t)((base - at) / 16) : 0;
}

static void lose_nested(void) {
  if (!hak_fork_happened()) hak_chunks_lose(1);
}

static void record(struct hak_trace_event *event, struct hak_trace_place place) {
  if (HAK_UNLIKELY(g_busy)) {
    lose_nested();
    return;
  }
  g_busy = true;
  __asm__ volatile("" ::: "memory");
  event->site = (uintptr_t)place.site;
  event->depth = depth_of(place.frame);
  if (is_ready()) {
    if (HAK_UNLIKELY(hak_self.gone)) write_late(event);
    else write_own(event);
  }
  __asm__ volatile("" ::: "memory");
  g_busy = false;
}

void hak_trace_came(enum hak_trace_op op, const void *p, size_t n, size_t align, struct hak_trace_place place) {
  struct hak_trace_event event = {.op = op, .came = (uintptr_t)p, .size = n, .align = align};
  record(&event, place);
}

void hak_trace_went(const void *p, struct hak_trace_place place) {
  struct hak_trace_event event = {.op = HAK_TRACE_FREE, .went = (uintptr_t)p};
  record(&event, place);
}

void hak_trace_resized(const void *p, const void *q, size_t n, uint64_t began, struct hak_trace_place place) {
  struct hak_trace_event event = {
      .op = HAK_TRACE_RESIZE, .ns = began, .went = (uintptr_t)p, .came = (uintptr_t)q, .size = n};
  record(&event, place);
}
