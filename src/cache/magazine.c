/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* magazine.c: refill, flush, and the capacity of a magazine.
 *
 * what      See magazine.h.
 * owner     The context's thread; g_budget.
 * locks     g_closed_lock, for classes closed for a drain.
 * not here  Limits of a thread: capacity.c. Learnt limits: learn/caches.h.
 */
#include "cache/magazine.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "blocks/depot.h"
#include "cache/backing.h"
#include "cache/capacity.h"
#include "cache/marks.h"
#include "cache/registry.h"
#include "retain/footprint.h"
#include "retain/memory_limit.h"
#include "tables/calls.h"
#include "tables/classes.h"
#include "tables/learning.h"
#include "tables/meta.h"
#include "tables/range.h"
#include "tables/settings.h"

enum {
  FIRST_BYTES = 2048,       /* [bytes] blocks of a new magazine; up to here a thread owns no slab */
  FIRST_CAPACITY = 31,
  FLUSH_STEPS = 192,        /* of a flush to the slabs: bounds the time of a free */
  HAND_STEPS = 8,
  HAND_PATIENCE = 16        /* misses without budget per turn of the hand */
};

struct hak_budget g_budget;
struct hak_lock g_closed_lock;

/* ---- numbers of blocks ---- */

/* Number of drained slots at the bottom of the array: the guard of an emptied class has the number. */
static size_t gone_of(const struct hak_context *x, unsigned c, void *const *slots) {
  return HAK_UNLIKELY(hak_has_class(x->emptied, c)) ? (size_t)(uintptr_t)hak_load(slots - 1) : 0;
}

size_t hak_magazine_blocks(const struct hak_context *x, unsigned c) {
  void **slots = hak_load_acquire(&x->slots[c]), **top = hak_load(&x->top[c]);
  if (slots == NULL || top <= slots) return 0;
  size_t used = (size_t)(top - slots), gone = gone_of(x, c, slots);
  return used > gone ? used - gone : 0;
}

/* Blocks in a class of the caller's own context that is not emptied. */
static size_t held(const struct hak_context *x, unsigned c) {
  void **slots = x->slots[c], **top = x->top[c];
  return slots != NULL ? (size_t)(top - slots) : 0;
}

/* ---- the history of a class's misses ---- */

/* Bit 0: a miss since the clock's hand last passed. Bit 1: the last miss was a flush. From bit 2: turns, that is
 * refills after a flush and flushes after a refill, since the capacity last grew. A class with many turns may have a
 * larger magazine; a burst, all refills and then all flushes, has one turn. */
enum miss { REFILL = 0, FLUSH = 2 };
enum { MISSED = 1, TURN = 4, TURNS_MAX = 0xfc, SWINGS_FROM = 4 * TURN, RUN_SWINGS_FROM = 32 * TURN };

static bool swings(const struct hak_context *x, unsigned c) { return x->history[c] >= SWINGS_FROM; }

static void note_miss(struct hak_context *x, unsigned c, enum miss miss) {
  unsigned old = x->history[c], turns = old & TURNS_MAX;
  if ((old & FLUSH) != (unsigned)miss && turns != TURNS_MAX) turns += TURN;
  x->history[c] = (uint8_t)(turns | (unsigned)miss | MISSED);
}

/* ---- budgets ---- */

/* [bytes] The array's part of hak_capacity_cost. */
static size_t array_cost(size_t capacity) { return hak_capacity_cost(0, capacity); }

static bool reserve(struct hak_context *x, unsigned c, size_t bytes) {
  if (!hak_capacity_allow(x, c, bytes, swings(x, c))) return false;
  if (hak_add(&g_budget.bytes, bytes) + bytes > hak_magazine_budget()) {
    hak_sub(&g_budget.bytes, bytes);
    return false;
  }
  x->small_bytes += hak_capacity_is_small(c) ? bytes : 0;
  hak_store(&x->all_bytes, x->all_bytes + bytes);
  return true;
}

static void release_own(struct hak_context *x, unsigned c, size_t bytes) {
  x->small_bytes -= hak_capacity_is_small(c) ? bytes : 0;
  hak_store(&x->all_bytes, x->all_bytes - bytes);
}

static void release_bytes(struct hak_context *x, unsigned c, size_t bytes) {
  release_own(x, c, bytes);
  hak_sub(&g_budget.bytes, bytes);
}

static unsigned first_capacity(unsigned c) {
  return hak_capacity_capacity(hak_min(FIRST_BYTES / g_class[c].bytes, FIRST_CAPACITY));
}

/* ---- arrays ---- */

/* The slot below the first is a guard, so that free may compare top[-1] in an empty magazine. */
static void **get_array(size_t capacity) {
  void **guard = hak_meta_get((capacity + 1) * sizeof *guard);
  if (guard == NULL) return NULL;
  *guard = NULL;
  return guard + 1;
}

static void put_array(void **slots, size_t capacity) {
  if (slots != NULL) hak_meta_put(slots - 1, (capacity + 1) * sizeof *slots);
}

static void install_slots(struct hak_context *x, unsigned c, void **slots, size_t capacity, size_t blocks) {
  hak_store_release(&x->touched[c / 64], x->touched[c / 64] | (uint64_t)1 << c % 64);
  hak_marks_close(x, c); /* a handler's call takes the slow path, which refuses it */
  hak_store(&x->top[c], NULL);
  hak_store_release(&x->capacity[c], 0); /* a fork in between must not find the old capacity with the new array */
  hak_store_release(&x->slots[c], slots);
  hak_store_release(&x->capacity[c], (uint16_t)capacity);
  hak_store_release(&x->top[c], slots == NULL ? NULL : slots + blocks);
  hak_marks_open(x, c);
}

/* Gives the magazine a capacity of at least its number of blocks. The caller settles the budget. False: no memory. */
static bool resize(struct hak_context *x, unsigned c, size_t capacity) {
  size_t blocks = held(x, c);
  void **old = x->slots[c], **slots = NULL;
  size_t old_capacity = x->capacity[c];
  if (capacity != 0 && (slots = get_array(capacity)) == NULL) return false;
  if (blocks != 0) __builtin_memcpy(slots, old, blocks * sizeof *slots);
  install_slots(x, c, slots, capacity, blocks);
  put_array(old, old_capacity);
  return true;
}

static bool try_capacity(struct hak_context *x, unsigned c, size_t capacity) {
  size_t more = hak_capacity_cost(c, capacity) - hak_capacity_cost(c, x->capacity[c]);
  if (!reserve(x, c, more)) return false;
  if (resize(x, c, capacity)) return true;
  release_bytes(x, c, more);
  return false;
}

/* ---- flush ---- */

/* [bytes] Limit of the depot for class c, per thread. */
HAK_INLINE size_t depot_bytes(unsigned c) {
  uint32_t learnt = hak_capacity_learnt(c) >> 8 & 255;
  return learnt == 0 ? HAK_DEPOT_BYTES : (size_t)1 << learnt;
}

HAK_INLINE size_t depot_room(unsigned c) {
  if (hak_registry_count() < 2) return 0;
  uint64_t budget = hak_magazine_budget(), reserved = hak_load(&g_budget.bytes);
  size_t held = hak_depot_blocks(c) * g_class[c].bytes, most = hak_registry_count() * depot_bytes(c);
  if (held >= most || reserved >= budget) return 0;
  return hak_min(most - held, budget - reserved) / g_class[c].bytes;
}

/* True if the thread also allocates in class c, and the blocks are a full pack in rows: a heap falls in the order in
 * which it grew. The blocks of a thread that only frees were handed over, and go back by the depot. */
HAK_INLINE bool falls_in_rows(const struct hak_context *x, unsigned c, void *const *blocks, size_t n) {
  return n == HAK_DEPOT_PACK && x->history[c] >= TURN && hak_slab_are_rows(c, blocks, n);
}

/* Puts back blocks that are out of the magazine: a pack to the depot where there is room, else to slabs or runs, as
 * many as the bounds of a flush allow. Before rows the thread gives up its slab: other threads may need the free slots.
 * Returns the number put back. */
HAK_INLINE size_t put_back(struct hak_context *x, unsigned c, bool run, void *const *blocks, size_t n,
                           enum hak_route *route, struct hak_fault *fault) {
  size_t pack = hak_min(n, HAK_DEPOT_PACK), done = 0;
  bool room = depot_room(c) >= pack, rows = room && !run && falls_in_rows(x, c, blocks, pack);
  *route = HAK_ROUTE_depot;
  if (room && !rows) {
    hak_add(&g_budget.bytes, pack * g_class[c].bytes); /* first: a fork must not leave the budget below 0 */
    hak_backing_check(c, run, blocks, pack, fault);
    done = hak_depot_put(c, blocks, pack);
    if (done != pack) hak_sub(&g_budget.bytes, (pack - done) * g_class[c].bytes);
  }
  if (done != 0) return done;
  *route = HAK_ROUTE_slab;
  if (rows) hak_slab_release(c, &x->slab[c]);
  done = hak_backing_put(c, run, blocks, n, FLUSH_STEPS, fault);
  hak_backing_note(c, run, done);
  return done;
}

/* Takes up to n of the older blocks out of the magazine and puts them back; the newest blocks fill the gap. Where the
 * bounds of a flush leave some of the older half, the next flushes go on behind the gap, up to the last of the older
 * blocks: a block that later ones overtake pins its page, and a huge page, for as long.
 *
 *     slots  | newest: gap filled | x x x x x x x x older x x x x x x | pushed since |
 *                             older.from                         older.end
 */
HAK_INLINE enum hak_route flush(struct hak_context *x, unsigned c, bool run, size_t n, struct hak_fault *fault) {
  struct hak_older *older = &x->older[c];
  void **slots = x->slots[c];
  size_t blocks = held(x, c), from = older->from, end = older->end;
  enum hak_route route;
  if (from >= end || end > blocks) from = 0, end = blocks;
  hak_store(&x->top[c], slots);
  size_t done = put_back(x, c, run, slots + from, hak_min(n, blocks - from), &route, fault);
  size_t rest = blocks - done;
  size_t moved = hak_min(done, rest - from);
  __builtin_memmove(slots + from, slots + blocks - moved, moved * sizeof *slots);
  hak_store_release(&x->top[c], slots + rest);
  bool half = 2 * done >= blocks;
  *older = (struct hak_older){(uint16_t)(from + done), (uint16_t)(half ? 0 : hak_min(end, rest))};
  return route;
}

static HAK_NOINLINE enum hak_route flush_any(struct hak_context *x, unsigned c, size_t n, struct hak_fault *fault) {
  return flush(x, c, hak_is_run_class(c), n, fault);
}

/* ---- end of a magazine, by the owner or by a drain ---- */

static void set_class(uint64_t *words, unsigned c, bool on) {
  uint64_t bit = (uint64_t)1 << c % 64, word = words[c / 64];
  hak_store_release(&words[c / 64], on ? word | bit : word & ~bit);
}

static void end_class(struct hak_context *x, unsigned c, struct hak_fault *fault) {
  size_t blocks = hak_magazine_blocks(x, c);
  if (blocks > x->capacity[c]) blocks = 0; /* a fork interrupted a resize: the blocks leak */
  void **slots = x->slots[c], **top = x->top[c];
  size_t capacity = x->capacity[c], cost = hak_capacity_cost(c, capacity);
  bool emptied = hak_has_class(x->emptied, c), run = hak_is_run_class(c);
  hak_store(&x->top[c], slots);
  if (blocks != 0) hak_backing_put(c, run, top - blocks, blocks, HAK_SLAB_ALL, fault);
  hak_backing_note(c, run, blocks);
  /* Before the array and the budget are released: after a fork in between, a second close must not release both. */
  install_slots(x, c, NULL, 0, 0);
  x->history[c] = 0;
  release_own(x, c, cost);
  hak_sub(&g_budget.bytes, emptied ? array_cost(capacity) : cost);
  put_array(slots, capacity);
  hak_slab_release(c, &x->slab[c]);
}

/* Ends a drain's access to the class. False: the class was emptied. */
static bool end_sharing(struct hak_context *x, unsigned c) {
  hak_lock_take(&g_closed_lock);
  bool intact = !hak_has_class(x->emptied, c);
  if (intact) set_class(x->closed, c, false);
  hak_lock_drop(&g_closed_lock);
  return intact;
}

/* Under the lock, as statistics read the guard. */
static void open_emptied(struct hak_context *x, unsigned c, struct hak_fault *fault) {
  hak_lock_take(&g_closed_lock);
  end_class(x, c, fault);
  set_class(x->emptied, c, false);
  set_class(x->closed, c, false);
  hak_lock_drop(&g_closed_lock);
}

/* Opens class c for its owner, if closed for a drain. An emptied class loses its magazine and begins anew. */
static void open_class(struct hak_context *x, unsigned c, struct hak_fault *fault) {
  if (!hak_has_class(x->closed, c)) return;
  if (end_sharing(x, c)) hak_marks_open(x, c);
  else open_emptied(x, c, fault);
}

void hak_magazine_close(struct hak_context *x, unsigned c) {
  set_class(x->closed, c, true);
  hak_marks_close(x, c);
}

/* The guard is stored before the emptied bit, and both before any block is put back: a fork in between leaks blocks.
 * The last block stays, as a pop by the owner may be under way. */
void hak_magazine_empty(struct hak_context *x, unsigned c, struct hak_fault *fault) {
  if (!hak_has_class(x->closed, c) || hak_has_class(x->emptied, c)) return;
  void **slots = x->slots[c], **top = hak_load_acquire(&x->top[c]);
  if (slots == NULL) return;
  size_t gone = top > slots ? (size_t)(top - slots) - 1 : 0;
  if (gone >= x->capacity[c]) return; /* a fork interrupted a resize */
  hak_store_release(slots - 1, (void *)(uintptr_t)gone);
  set_class(x->emptied, c, true);
  hak_sub(&g_budget.bytes, hak_capacity_cost(c, x->capacity[c]) - array_cost(x->capacity[c]));
  if (gone != 0) hak_backing_put(c, hak_is_run_class(c), slots, gone, HAK_SLAB_ALL, fault);
}

/* ---- capacity ---- */

/* Halves the capacity. If one flush leaves more blocks than that, the capacity stays until a later miss. */
static HAK_NOINLINE void shrink_magazine(struct hak_context *x, unsigned c, struct hak_fault *fault) {
  size_t capacity = x->capacity[c] / 2, blocks = held(x, c);
  size_t less = hak_capacity_cost(c, x->capacity[c]) - hak_capacity_cost(c, capacity);
  if (blocks > capacity) flush_any(x, c, blocks - capacity, fault);
  if (held(x, c) <= capacity && resize(x, c, capacity)) release_bytes(x, c, less);
}

/* End of the classes that the hand visits: run classes only where the thread has used one. */
static unsigned end_of_classes(const struct hak_context *x) {
  for (unsigned c = HAK_RUN_CLASS; c < HAK_CLASSES; c++) {
    if (hak_has_class(x->touched, c)) return HAK_CLASSES;
  }
  return hak_class_end();
}

/* Halves the magazine of one class that had no miss since the hand last passed. */
static void turn_hand(struct hak_context *x, unsigned not_this, struct hak_fault *fault) {
  unsigned end = end_of_classes(x);
  for (unsigned i = 0; i < HAND_STEPS; i++) {
    x->hand = (uint8_t)((x->hand + 1) % end);
    unsigned c = x->hand;
    if (c == not_this || x->capacity[c] == 0) continue;
    if (!(x->history[c] & MISSED)) {
      open_class(x, c, fault);
      shrink_magazine(x, c, fault);
      return;
    }
    x->history[c] &= (uint8_t)~MISSED;
  }
}

/* True if a limit is exceeded: since the magazines grew, the slabs shrank or a limit was lowered. */
HAK_INLINE bool is_over_bounds(const struct hak_context *x, unsigned c) {
  return !hak_capacity_allow(x, c, 0, true) || hak_load(&g_budget.bytes) > hak_magazine_budget();
}

HAK_INLINE bool grow_magazine(struct hak_context *x, unsigned c) {
  size_t capacity = x->capacity[c];
  if (!try_capacity(x, c, capacity == 0 ? first_capacity(c) : capacity * 2 + 1)) return false;
  x->history[c] &= MISSED | FLUSH;
  return true;
}

/* At a miss: opens the magazine or doubles its capacity; halves the capacity where a limit is exceeded. */
static HAK_NOINLINE void adapt(struct hak_context *x, unsigned c, enum miss miss, struct hak_fault *fault) {
  size_t capacity = x->capacity[c];
  note_miss(x, c, miss);
  if (HAK_UNLIKELY(capacity > 1 && is_over_bounds(x, c))) {
    shrink_magazine(x, hak_capacity_giver(x, c), fault);
    return;
  }
  size_t above = capacity >> hak_load(&x->most_log[c]);
  if (above != 0) {
    if (HAK_UNLIKELY(above > 1)) shrink_magazine(x, c, fault); /* learnt: less capacity will do */
    return;
  }
  hak_store(&x->most_log[c], hak_capacity_log(c));
  if (grow_magazine(x, c)) return;
  if (capacity != 0 && ++x->starved % HAND_PATIENCE != 0) return;
  turn_hand(x, c, fault);
  if (hak_magazine_is_short()) hak_account_starve();
}

/* True if more than half of the bytes in used and dirty runs are dirty, and dirty runs may stay since no request
 * missed them within T (g_footprint.spare): frees are then the end of a burst. */
static bool burst_ends(void) {
  return hak_load(&g_footprint.spare) != 0 && hak_load(&g_footprint.dirty) > hak_load(&g_footprint.span) / 2;
}

enum { LATELY_BITS = 3 * 8 };

/* True if class c is one of the last three run classes that missed; moves c to the front. In a mixture of more sizes
 * a magazine would cost more memory, by rounding to classes, than its few hits are worth. */
HAK_INLINE bool missed_lately(struct hak_context *x, unsigned c) {
  uint32_t seen = x->run_misses, moved = 0;
  unsigned shift = 0;
  while (shift < LATELY_BITS && (seen >> shift & 255) != c) shift += 8;
  moved = ((uint32_t)1 << hak_min(shift + 8, LATELY_BITS)) - 1; /* bytes that take part in the move */
  x->run_misses = (seen & ~moved) | (seen << 8 & moved) | c;
  return shift < LATELY_BITS;
}

/* note_miss for runs. A turn counts 2, a flush at the end of a burst 1; any other miss of the same kind as the last
 * takes 1 back. So a burst gets a magazine only where its runs stay free anyway; an open magazine doubles at each such
 * flush. Returns true if a larger magazine would save misses. */
HAK_INLINE bool note_run_miss(struct hak_context *x, unsigned c, enum miss miss) {
  unsigned old = x->history[c], turns = old & TURNS_MAX;
  bool lately = missed_lately(x, c), turned = lately && (old & FLUSH) != (unsigned)miss;
  bool counts = turned || (miss == FLUSH && burst_ends());
  if (counts) turns = (unsigned)hak_min(turns + (turned ? 2 * TURN : TURN), TURNS_MAX);
  else turns -= (unsigned)hak_min(turns, TURN);
  x->history[c] = (uint8_t)(turns | (unsigned)miss | MISSED);
  return counts && (turns >= RUN_SWINGS_FROM || (!turned && x->capacity[c] != 0));
}

/* True if the thread has no magazine for run class c, and gets none at this miss. */
HAK_INLINE bool goes_past(struct hak_context *x, unsigned c, enum miss miss) {
  return x->capacity[c] == 0 && !note_run_miss(x, c, miss);
}

/* Capacity 0: goes_past has counted the miss and decided to open the magazine. */
static HAK_NOINLINE void adapt_run(struct hak_context *x, unsigned c, enum miss miss, struct hak_fault *fault) {
  if (x->capacity[c] == 0 || note_run_miss(x, c, miss)) adapt(x, c, miss, fault);
  else if (is_over_bounds(x, c)) shrink_magazine(x, c, fault);
}

/* ---- slow paths ---- */

/* A slow path touches a context only between enter_context and leave_context: a drain sees by x->visits that the owner
 * was inside. */
static uint32_t enter_context(struct hak_context *x) {
  uint32_t visit = (x->visits + 1) | 1; /* odd before: a fork left the vanished owner inside (hak_magazine_bury) */
  hak_store(&x->visits, visit);
  __asm__ volatile("" ::: "memory");
  return visit;
}

static void leave_context(struct hak_context *x, uint32_t visit) { hak_store_release(&x->visits, visit + 1); }

/* First step of a slow path in its context: the settings may have changed. */
static void heed_settings(struct hak_context *x, unsigned c, struct hak_fault *fault) {
  if (HAK_UNLIKELY(hak_load(&x->eyes) != hak_calls_observers())) hak_marks_open_all(x);
  if (HAK_UNLIKELY(hak_load(&x->ceiling[c]) == NULL)) open_class(x, c, fault);
}

/* Takes up to n blocks from the depot, and the bytes of these blocks from the budget. */
static size_t take_from_depot(unsigned c, void **out, size_t n) {
  n = hak_depot_take(c, out, n);
  hak_sub(&g_budget.bytes, n * g_class[c].bytes);
  return n;
}

/* Blocks of a slab that stays listed for all threads: threads that need little of a class share pages. */
static HAK_NOINLINE size_t fill_shared(unsigned c, bool run, void **out, size_t want) {
  uint32_t current = HAK_NO_UNIT;
  size_t n = hak_backing_fill(c, run, &current, out, want);
  hak_slab_release(c, &current);
  return n;
}

HAK_INLINE enum hak_route refill_magazine(struct hak_context *x, unsigned c, bool run) {
  size_t want = hak_min((x->capacity[c] + 1u) / 2, HAK_DEPOT_PACK);
  void **slots = x->slots[c];
  enum hak_route route = HAK_ROUTE_depot;
  size_t n = hak_depot_has(c) ? take_from_depot(c, slots, want) : 0;
  if (n == 0) {
    bool shares = x->capacity[c] * g_class[c].bytes <= FIRST_BYTES;
    n = HAK_UNLIKELY(shares) ? fill_shared(c, run, slots, want) : hak_backing_fill(c, run, &x->slab[c], slots, want);
    route = HAK_ROUTE_slab;
  }
  hak_store_release(&x->top[c], slots + n);
  return route;
}

/* NULL: no memory. A fill of no block leaves anything in p. */
HAK_INLINE void *take_one(unsigned c, bool run, enum hak_route *route) {
  void *p = NULL;
  *route = HAK_ROUTE_slab;
  return fill_shared(c, run, &p, 1) != 0 ? p : NULL;
}

/* Begins the record of a miss for learning; 0: not recorded. */
HAK_INLINE uint64_t begin_path(const struct hak_context *x, unsigned c, enum miss miss) {
  if (HAK_LIKELY(hak_load(&g_account.counts) == 0)) return 0;
  const struct hak_learning *learning = hak_load_acquire(&g_learning); /* the flag may be visible before the pointer */
  return learning != NULL ? learning->path_begins((x->history[c] & FLUSH) != (unsigned)miss) : 0;
}

static HAK_NOINLINE size_t flush_share(unsigned c, size_t blocks) {
  size_t eighths = hak_capacity_learnt(c) >> 16 & 255;
  return eighths == 0 ? (blocks + 1) / 2 : (blocks * eighths + 7) / 8;
}

/* NULL: the class has no magazine, or no memory. */
HAK_INLINE void *take_block(struct hak_context *x, unsigned c, bool run, enum hak_route *route,
                            struct hak_fault *fault) {
  heed_settings(x, c, fault);
  if (held(x, c) == 0) {
    uint64_t begun = begin_path(x, c, REFILL);
    if (run) adapt_run(x, c, REFILL, fault);
    else adapt(x, c, REFILL, fault);
    if (x->capacity[c] != 0) *route = refill_magazine(x, c, run);
    if (HAK_UNLIKELY(begun != 0)) hak_load(&g_learning)->path_ends(c, false, *route == HAK_ROUTE_slab, begun);
  }
  return held(x, c) != 0 ? hak_cache_pop(x, c, x->top[c]) : NULL;
}

HAK_INLINE void *take_or_fetch(struct hak_context *x, unsigned c, bool run, enum hak_route *route,
                               struct hak_fault *fault) {
  void *p = NULL;
  *route = HAK_ROUTE_magazine;
  *fault = (struct hak_fault){HAK_ERROR_none, NULL};
  if (x != NULL) {
    uint32_t visit = enter_context(x);
    p = take_block(x, c, run, route, fault);
    leave_context(x, visit);
    if (HAK_UNLIKELY(p == NULL && x->capacity[c] != 0)) return NULL;
  }
  return p != NULL ? p : take_one(c, run, route);
}

void *hak_magazine_take(struct hak_context *x, unsigned c, enum hak_route *route, struct hak_fault *fault) {
  return take_or_fetch(x, c, false, route, fault);
}

bool hak_magazine_serves_run(struct hak_context *x, unsigned c) { return x != NULL && !goes_past(x, c, REFILL); }

void hak_magazine_missed_run(struct hak_context *x, unsigned c) { (void)(x != NULL && goes_past(x, c, FLUSH)); }

void *hak_magazine_take_run(struct hak_context *x, unsigned c, struct hak_fault *fault) {
  enum hak_route route;
  return take_or_fetch(x, c, true, &route, fault);
}

static void push_block(struct hak_context *x, unsigned c, void *p) {
  void **top = x->top[c];
  *top = p;
  hak_store_release(&x->top[c], top + 1);
}

/* False: the class has no magazine. */
HAK_INLINE bool put_block(struct hak_context *x, unsigned c, bool run, void *p, enum hak_route *route,
                          struct hak_fault *fault) {
  heed_settings(x, c, fault);
  if (held(x, c) == x->capacity[c]) {
    uint64_t begun = begin_path(x, c, FLUSH);
    if (run) adapt_run(x, c, FLUSH, fault);
    else adapt(x, c, FLUSH, fault);
    size_t blocks = held(x, c), half = begun == 0 ? (blocks + 1) / 2 : flush_share(c, blocks);
    bool full = blocks == x->capacity[c] && blocks != 0;
    if (full) *route = run ? flush_any(x, c, half, fault) : flush(x, c, false, half, fault);
    if (HAK_UNLIKELY(begun != 0)) hak_load(&g_learning)->path_ends(c, true, *route == HAK_ROUTE_slab, begun);
  }
  if (x->capacity[c] == 0) return false;
  push_block(x, c, p);
  return true;
}

HAK_INLINE enum hak_route put_or_give(struct hak_context *x, unsigned c, bool run, void *p, struct hak_fault *fault) {
  enum hak_route route = HAK_ROUTE_magazine;
  bool done = false;
  *fault = (struct hak_fault){HAK_ERROR_none, NULL};
  if (x != NULL) {
    uint32_t visit = enter_context(x);
    done = put_block(x, c, run, p, &route, fault);
    leave_context(x, visit);
  }
  if (done) return route;
  hak_backing_put(c, run, &p, 1, 1, fault);
  hak_backing_note(c, run, 1);
  return HAK_ROUTE_slab;
}

enum hak_route hak_magazine_put(struct hak_context *x, unsigned c, void *p, struct hak_fault *fault) {
  return put_or_give(x, c, false, p, fault);
}

void hak_magazine_put_run(struct hak_context *x, unsigned c, void *p, struct hak_fault *fault) {
  put_or_give(x != NULL && goes_past(x, c, FLUSH) ? NULL : x, c, true, p, fault);
}

/* ---- the end ---- */

static void end_for_good(struct hak_context *x, unsigned c, struct hak_fault *fault) {
  bool emptied = hak_has_class(x->closed, c) && !end_sharing(x, c);
  if (emptied) open_emptied(x, c, fault);
  else end_class(x, c, fault);
}

void hak_magazine_end_all(struct hak_context *x, struct hak_fault *fault) {
  *fault = (struct hak_fault){HAK_ERROR_none, NULL};
  uint32_t visit = enter_context(x);
  for (unsigned w = 0; w < HAK_CLASS_WORDS; w++) {
    for (uint64_t left = x->touched[w]; left != 0; left &= left - 1) {
      end_for_good(x, w * 64 + hak_lowest_bit(left), fault);
    }
    hak_store_release(&x->touched[w], 0);
  }
  leave_context(x, visit);
}

void hak_magazine_bury(struct hak_context *x, struct hak_fault *fault) {
  hak_magazine_end_all(x, fault);
  hak_registry_retire(x);
}

void hak_magazine_drain_class(unsigned c, struct hak_fault *fault) {
  enum { BATCH = 32 };
  void *blocks[BATCH];
  while (hak_depot_has(c)) {
    size_t n = take_from_depot(c, blocks, BATCH);
    if (n == 0) return; /* another thread is between the stack and its count */
    hak_backing_put(c, hak_is_run_class(c), blocks, n, HAK_SLAB_ALL, fault);
  }
}

void hak_magazine_drain_depot(struct hak_fault *fault) {
  for (unsigned c = 1; c < HAK_CLASSES; c++) hak_magazine_drain_class(c, fault);
}
