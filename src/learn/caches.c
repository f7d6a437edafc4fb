/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* caches.c: learnt capacities, by class, of magazines and of the depot.
 *
 * what      See caches.h. For the depot's controller the depot is a magazine of KiB, and a slow call moves a pack.
 * owner     g_caches; g_capacity_learnt (in cache/capacity.c), which the learner alone stores.
 */
#include "learn/caches.h"

#include "blocks/depot.h"
#include "cache/capacity.h"
#include "cache/context.h"
#include "cache/magazine.h"
#include "cache/registry.h"
#include "learn/ace.h"
#include "learn/bill.h"
#include "os/os.h"
#include "reclaim/drain_idle.h"
#include "retain/rent.h"
#include "tables/counters.h"
#include "tables/settings.h"

enum {
  CONTEXTS = 64,    /* threads whose blocks are counted */
  TIMED_EVERY = 64, /* slow calls per timed slow call */
  TIMED_LOG = 3,    /* a time counts 1/8 in the mean */
  MOST_NS = 1 << 16, /* cap of a time: the thread was interrupted */
  FIRST_NS = 500,
  LOWEST_LOG = HAK_CACHES_LEAST_LOG, /* log2 of rung 0 of both ladders [blocks, KiB] */
  RUNGS = HAK_CACHES_RUNGS,
  KIB_LOG = 10,
  BURST_PART = 16,   /* in a burst, at most 1 of so many slow calls is a turn */
  BURST_EIGHTHS = HAK_CACHES_EIGHTHS
};

struct slow_calls {
  uint32_t refills, flushes, turns;
  bool flushed; /* the last slow call was a flush */
};

struct learnt {
  struct slow_calls magazine, depot;
  struct hak_ace capacity, bound;
  uint32_t slow_call_ns;
  uint32_t held, depot_held; /* [blocks, KiB] at the last window's end */
  uint16_t windows; /* learnt from, in earlier runs too */
  bool known;
};

static HAK_RARE struct {
  struct learnt of[HAK_CLASSES];
  uint32_t begun; /* slow calls; racing threads may lose a count */
  struct hak_bill bill;
  uint64_t paid_ns; /* in this window, by the classes so far */
} g_caches;

/* ---- slow calls ---- */

static void add_one(uint32_t *cell) {
  if (hak_is_single_threaded()) hak_store(cell, hak_load(cell) + 1);
  else hak_add(cell, 1);
}

/* Bit 0: set. Bit 1: a turn. Bits 2 and up: the start time [ns], 0 if not timed. */
uint64_t hak_caches_begin(bool turns) {
  uint32_t n = hak_load(&g_caches.begun) + 1;
  hak_store(&g_caches.begun, n);
  return (n % TIMED_EVERY == 0 ? hak_os_now_ns() << 2 : 0) | (turns ? 3 : 1);
}

static void count_slow_call(struct slow_calls *slow_calls, bool flush, bool turns) {
  add_one(flush ? &slow_calls->flushes : &slow_calls->refills);
  if (turns) add_one(&slow_calls->turns);
}

static void note_time(struct learnt *l, uint64_t ns) {
  uint32_t old = hak_load(&l->slow_call_ns), now = (uint32_t)hak_min(ns, MOST_NS);
  hak_store(&l->slow_call_ns, old == 0 ? now : (uint32_t)(old - (old >> TIMED_LOG) + (now >> TIMED_LOG)));
}

void hak_caches_passed(unsigned c, bool flush, bool behind, uint64_t begun) {
  struct learnt *l = &g_caches.of[c];
  if (hak_is_run_class(c)) return;
  count_slow_call(&l->magazine, flush, (begun & 2) != 0);
  if (behind && hak_registry_count() > 1) {
    count_slow_call(&l->depot, flush, hak_load(&l->depot.flushed) != flush);
    hak_store(&l->depot.flushed, flush);
  }
  if (begun >> 2 != 0) note_time(l, hak_os_now_ns() - (begun >> 2));
}

/* ---- a window's end ---- */

/* Takes the counts, which become 0. before, now: units of `bytes` bytes held at the window's start and end. */
static struct hak_ace_window take_window(struct slow_calls *slow_calls, uint64_t elapsed_ns, uint32_t before,
                                         uint32_t now, size_t bytes) {
  return (struct hak_ace_window){.refills = hak_swap_release(&slow_calls->refills, 0),
                                 .flushes = hak_swap_release(&slow_calls->flushes, 0),
                                 .turns = hak_swap_release(&slow_calls->turns, 0),
                                 .most = (uint32_t)hak_max(before, now),
                                 .least = (uint32_t)hak_min(before, now),
                                 .us = (uint32_t)hak_min(elapsed_ns / 1000, UINT32_MAX),
                                 .held = ((uint64_t)before + now) / 2 * bytes};
}

static bool has_slow_calls(const struct hak_ace_window *window) { return window->refills + window->flushes != 0; }

/* Rungs of a ladder up to `most`. */
static uint32_t rungs_to(size_t most) {
  unsigned log = hak_highest_bit(hak_max(most, 1 << LOWEST_LOG));
  return (uint32_t)hak_min(log - LOWEST_LOG + 1u, RUNGS);
}

static struct hak_ace_rules rules_of(const struct learnt *l, size_t most, size_t most_moved) {
  uint64_t price = hak_min((uint64_t)hak_setting(price) << hak_min(hak_load(&g_rent.pressure), 8), UINT32_MAX);
  uint32_t slow_call_ns = hak_load(&l->slow_call_ns);
  struct hak_ace_rules rules = hak_ace_usual(slow_call_ns != 0 ? slow_call_ns : FIRST_NS, (uint32_t)price);
  rules.rungs = rungs_to(most);
  rules.most_moved = (uint32_t)hak_max(most_moved, 1);
  return rules;
}

static void begin_at(struct hak_ace *ace, struct hak_ace_rules rules, size_t usual) {
  *ace = (struct hak_ace){.rung = (uint8_t)hak_min(rungs_to(usual), rules.rungs)};
  if (ace->rung != 0) ace->rung--;
}

/* True if the rung changed. In shadow the change is counted, and the controller restarts at the usual rung. */
static bool decide_rung(struct hak_ace *ace, struct hak_ace_rules rules, const struct hak_ace_window *window,
                        size_t usual) {
  if (!hak_ace_note(ace, rules, window)) return false;
  hak_count(HAK_COUNTER_learn_caches, 1);
  if (!hak_learner_acts()) begin_at(ace, rules, usual);
  return true;
}

/* Few turns (a burst): a larger flush saves slow calls, and the flushed blocks are not needed soon. */
static unsigned flush_eighths(const struct hak_ace_window *window, uint32_t word) {
  if (!has_slow_calls(window)) return word >> 16 & 255;
  return window->turns * BURST_PART <= window->refills + window->flushes ? BURST_EIGHTHS : 0;
}

static void publish_capacity(unsigned c, const struct learnt *l, unsigned eighths) {
  uint32_t depot_log = LOWEST_LOG + KIB_LOG + (uint32_t)l->bound.rung;
  uint32_t word = (LOWEST_LOG + l->capacity.rung) | depot_log << 8 | eighths << 16;
  if (word == hak_load(&g_capacity_learnt[c])) return;
  hak_store(&g_capacity_learnt[c], word);
  if (hak_load(&g_capacity_learnt[0]) == 0) hak_store(&g_capacity_learnt[0], 1);
  hak_store(&g_account.capacities, true);
  hak_capacity_heed(c);
}

static void learn_class(unsigned c, uint64_t elapsed_ns, uint32_t held) {
  struct learnt *l = &g_caches.of[c];
  size_t bytes = g_class[c].bytes, threads = hak_max(hak_registry_count(), 1);
  uint32_t depot_held = (uint32_t)(hak_depot_blocks(c) * bytes >> 10);
  struct hak_ace_window own = take_window(&l->magazine, elapsed_ns, l->held, held, bytes);
  struct hak_ace_window all = take_window(&l->depot, elapsed_ns, l->depot_held, depot_held, 1 << 10);
  l->held = held;
  l->depot_held = depot_held;
  size_t most = hak_min(hak_setting(thread_cache_bytes) / bytes, HAK_MAGAZINE_LARGEST + 1);
  struct hak_ace_rules rules = rules_of(l, most, HAK_DEPOT_PACK);
  g_caches.paid_ns += hak_ace_paid(rules, &own);
  if (hak_bill_is_small(&g_caches.bill) || (!l->known && !has_slow_calls(&own))) return;
  size_t usual = hak_capacity_usual(c) + 1, depot_usual = HAK_DEPOT_BYTES >> 10;
  struct hak_ace_rules depot_rules = rules_of(l, 1 << 10, HAK_DEPOT_PACK * bytes / threads >> 10);
  if (!l->known) begin_at(&l->capacity, rules, usual);
  if (!l->known) begin_at(&l->bound, depot_rules, depot_usual);
  l->known = true;
  if (l->windows != HAK_CACHES_WINDOWS) l->windows++;
  l->capacity.rung = (uint8_t)hak_min(l->capacity.rung, rules.rungs - 1); /* thread_cache_bytes may have shrunk */
  decide_rung(&l->capacity, rules, &own, usual);
  decide_rung(&l->bound, depot_rules, &all, depot_usual);
  if (hak_learner_acts()) publish_capacity(c, l, flush_eighths(&own, hak_load(&g_capacity_learnt[c])));
}

/* Adds up the blocks of each class in the magazines of the first CONTEXTS threads. */
static void count_blocks(uint32_t *held) {
  const struct hak_context *x = hak_registry_first();
  hak_lock_take(&g_closed_lock);
  for (unsigned n = 0; x != NULL && n < CONTEXTS; x = hak_registry_next(x), n++) {
    if (!hak_load_acquire(&x->in_use)) continue;
    for (unsigned w = 0; w < HAK_CLASS_WORDS; w++) {
      for (uint64_t left = hak_load(&x->touched[w]); left != 0; left &= left - 1) {
        unsigned c = w * 64 + hak_lowest_bit(left);
        held[c] += (uint32_t)hak_magazine_blocks(x, c);
      }
    }
  }
  hak_lock_drop(&g_closed_lock);
}

void hak_caches_learn(const struct hak_learner_window *window) {
  uint32_t held[HAK_CLASSES] = {0};
  if (!hak_setting(learn_caches)) return;
  count_blocks(held);
  g_caches.paid_ns = 0;
  for (unsigned c = 1; c < HAK_CLASSES; c++) {
    bool exists = g_class[c].bytes != 0; /* not a number that no extra class has yet */
    if (exists && !hak_is_run_class(c)) learn_class(c, window->elapsed_ns, held[c]);
  }
  hak_bill_note(&g_caches.bill, g_caches.paid_ns, window->elapsed_ns);
}

/* Clears the word of class c. A class number not in use yet has no word. */
static void forget_class(unsigned c) {
  if (hak_load(&g_capacity_learnt[c]) == 0) return;
  hak_store(&g_capacity_learnt[c], 0);
  hak_capacity_heed(c);
}

void hak_caches_heed(void) {
  bool frozen = hak_setting(mode) == HAK_MODE_FROZEN;
  if (frozen || (hak_learner_acts() && hak_setting(learn_caches))) return;
  if (!hak_load(&g_account.capacities)) return;
  hak_store(&g_account.capacities, false); /* first: a word that is published meanwhile is found the next time */
  hak_store(&g_capacity_learnt[0], 0);
  for (unsigned c = 1; c < HAK_CLASSES; c++) forget_class(c);
}

/* ---- rows of a policy ---- */

/* The number of class c in this colour; 0: none. */
static unsigned twin_of(unsigned c, unsigned color) {
  if (color == 0) return c;
  return c <= HAK_COLORED ? HAK_CLASSES_USED + (color - 1) * HAK_COLORED + c - 1 : 0;
}

/* The twin of class c that learnt from the most windows; 0: none has a word. */
static unsigned best_twin(unsigned c) {
  unsigned best = 0;
  for (unsigned color = 0; color < HAK_COLORS; color++) {
    unsigned twin = twin_of(c, color);
    bool known = twin != 0 && hak_load(&g_capacity_learnt[twin]) != 0 && g_caches.of[twin].windows != 0;
    if (known && (best == 0 || g_caches.of[twin].windows > g_caches.of[best].windows)) best = twin;
  }
  return best;
}

bool hak_caches_out(unsigned which, unsigned c, uint64_t *number) {
  (void)which;
  bool first = c != 0 && (c < HAK_CLASSES_USED || c >= HAK_EXTRA_CLASS) && c < hak_class_end();
  unsigned best = first ? best_twin(c) : 0;
  if (best == 0) return false;
  uint32_t word = hak_load(&g_capacity_learnt[best]);
  number[0] = g_class[c].bytes;
  for (unsigned part = 0; part < 3; part++) number[1 + part] = word >> 8 * part & 255;
  number[4] = g_caches.of[best].windows;
  hak_ace_sums(&g_caches.of[best].capacity, number + 5);
  hak_ace_sums(&g_caches.of[best].bound, number + 5 + HAK_ACE_SUMS);
  return true;
}

static void take_capacity(unsigned c, const uint64_t *number) {
  struct learnt *l = &g_caches.of[c];
  hak_ace_restore(&l->capacity, (uint8_t)(number[1] - LOWEST_LOG), number + 5);
  hak_ace_restore(&l->bound, (uint8_t)(number[2] - LOWEST_LOG - KIB_LOG), number + 5 + HAK_ACE_SUMS);
  l->windows = (uint16_t)number[4];
  l->known = true;
  if (hak_setting(mode) != HAK_MODE_SHADOW) publish_capacity(c, l, (unsigned)number[3]);
}

/* Of two rows the one from more windows. No class of this size now: no row. */
bool hak_caches_in(unsigned which, const uint64_t *number, enum hak_row_use use) {
  (void)which;
  unsigned c = hak_class_of(number[0]), best = g_class[c].bytes == number[0] ? best_twin(c) : 0;
  bool more = use == HAK_ROW_JOIN && best != 0 && number[4] > g_caches.of[best].windows;
  bool takes = more || (use == HAK_ROW_TAKE && g_class[c].bytes == number[0]);
  for (unsigned color = 0; takes && color < HAK_COLORS; color++) {
    if (twin_of(c, color) != 0) take_capacity(twin_of(c, color), number);
  }
  return false;
}
