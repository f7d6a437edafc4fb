/* caretaker.c: what concerns all threads and boxes at once.
 *
 * what      Trim, statistics, and the repair of what a fork cut.
 *
 *               child: threads gone -> their magazines: bit set? drop : put back -> context free for the next thread
 *
 * owner     g_caretaker.
 * locks     Only the boxes', inside their calls.
 * orders    See caretaker.h.
 * hot path  No.
 * failure   None.
 * not here  Ageing.
 */
#include "front/caretaker.h"

#include "box/big.h"
#include "box/depot.h"
#include "box/large.h"
#include "box/slab.h"
#include "core/classes.h"
#include "core/counters.h"
#include "core/meta.h"
#include "core/range.h"
#include "front/door.h"
#include "front/front.h"
#include "front/magazine.h"
#include "front/thread.h"
#include "span/span.h"

struct hak_caretaker g_caretaker;

/* ---- fork ---- */

/* Did this context's thread exist before the fork, without being the one that called it? */
static bool owner_vanished(const struct hak_context *x) {
  return hak_load_acquire(&x->in_use) && x->generation != hak_load(&g_fork.generation) &&
         (x->token != g_fork.survivor || x->generation < g_fork.born);
}

/* The first thread to come repairs; others go on, since every lock repairs itself. */
static void repair_after_fork(void) {
  if (hak_fork_happened()) hak_fork_notice();
  uint64_t now = hak_load(&g_fork.generation), seen = hak_load(&g_caretaker.repaired_generation);
  if (seen == now || !hak_fork_know_survivor()) return;
  if (!hak_cas_acq_rel(&g_caretaker.repaired_generation, &seen, now)) return;
  hak_count(HAK_COUNTER_fork_repairs, 1);
  for (struct hak_context *x = hak_thread_first(); x != NULL; x = x->next) {
    struct hak_fault dropped;
    if (owner_vanished(x)) hak_thread_bury(x, &dropped);
  }
}

/* ---- balance ---- */

/* Gives up to `excess` bytes of `held` ones back by keeping the rest; what is still too much. */
static uint64_t lower(size_t (*keep)(size_t), uint64_t held, uint64_t excess) {
  if (excess == 0 || held == 0) return excess;
  uint64_t gone = keep(held > excess ? held - excess : 0);
  return gone < excess ? excess - gone : 0;
}

void hak_caretaker_balance(void) {
  uint64_t live, kept, dirty, clean, range = hak_load(&g_range.mapped);
  hak_store(&g_caretaker.range_bytes, range);
  hak_big_bytes_now(&live, &kept);
  hak_span_bytes(&dirty, &clean);
  uint64_t now = range - clean + live + kept, peak = hak_load(&g_caretaker.peak_bytes);
  if (now <= peak) return;
  uint64_t excess = lower(hak_big_trim, kept, now - peak);
  excess = lower(hak_span_purge, dirty, excess);
  hak_store(&g_caretaker.peak_bytes, peak + excess);
}

void hak_caretaker_act(void) {
  repair_after_fork();
  hak_caretaker_balance();
}

/* ---- trim ---- */

/* Bytes that hold pages or may: what trim can lower. */
bool hak_front_trim(size_t pad) {
  struct hak_context *x = hak_door_enter(NULL, __builtin_return_address(0));
  struct hak_fault fault = {HAK_ERRORS, NULL};
  if (x != NULL) hak_magazine_close_all(x, &fault);
  hak_magazine_drain_depot();
  hak_slab_trim();
  size_t gone = hak_big_trim(pad) + hak_span_purge(pad);
  hak_door_leave();
  if (fault.error != HAK_ERRORS) hak_die(fault.error, fault.p, g_class[hak_range_class(fault.p)].bytes, NULL);
  return gone != 0;
}

/* ---- statistics ---- */

static size_t cached_blocks(unsigned c) {
  size_t n = hak_depot_blocks(c);
  for (struct hak_context *x = hak_thread_first(); x != NULL; x = x->next) n += hak_magazine_blocks(x, c);
  return n;
}

static void slab_stats(struct hak_stats *s) {
  s->slab_bytes = s->slab_live = s->cached = 0;
  for (unsigned c = 1; c < HAK_CLASSES; c++) {
    uint64_t units;
    s->slab_live += hak_slab_out(c, &units) * g_class[c].bytes;
    s->slab_bytes += units << HAK_UNIT_SHIFT;
    s->cached += cached_blocks(c) * g_class[c].bytes;
  }
}

static void fill_stats(struct hak_stats *s) {
  slab_stats(s);
  hak_big_bytes_now(&s->big_live, &s->big_cached);
  hak_span_bytes(&s->span_dirty, &s->span_clean);
  s->large_live = hak_large_live();
  s->metadata = hak_meta_bytes() + hak_range_table_bytes() + hak_big_table_bytes();
  s->mapped = hak_load(&g_range.mapped) + s->metadata + s->big_live + s->big_cached;
  s->cached = s->cached < s->slab_live ? s->cached : s->slab_live; /* another thread may be between two of its stores */
  s->in_use = s->slab_live - s->cached + s->large_live + s->big_live;
  s->threads = hak_thread_count();
}

void hak_front_stats(struct hak_stats *s) {
  hak_door_enter(NULL, __builtin_return_address(0));
  fill_stats(s);
  hak_door_leave();
}

size_t hak_front_in_use(void) {
  struct hak_stats s = {0};
  hak_front_stats(&s);
  return (size_t)s.in_use;
}

void hak_front_knobs_changed(void) { hak_magazine_mark_all(); }
