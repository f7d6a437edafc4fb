/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* drain_idle.c: empties the magazines of other threads.
 *
 * what      See drain_idle.h.
 * owner     g_drain, g_visits.
 */
#include "reclaim/drain_idle.h"

#include "base/atomic.h"
#include "cache/magazine.h"
#include "cache/registry.h"
#include "os/allowed.h"
#include "os/alone.h"
#include "os/fork.h"
#include "os/os.h"
#include "os/self.h"
#include "os/thread.h"
#include "reclaim/background_thread.h"
#include "retain/rent.h"
#include "tables/meta.h"
#include "tables/settings.h"

enum {
  BATCH = 64,
  SAME_LOOKS = 4,
  SOON_LOOKS = 1,
  BLOCKS_BITS = 10,
  BLOCKS_MASK = (1 << BLOCKS_BITS) - 1,
  ASK_MS = 64, /* between two requests; a look at 200 threads takes 0.2 ms */
  REST_MS = 16 /* a thread idle for so long yields to a starving thread */
};

/* Classes to drain: all; classes unchanged for the rent time of a page, or since the last look; classes of threads that
 * rested since the last look of this kind, until the budget has room. */
enum choice { ALL, IDLE, IDLE_SOON, RESTING };

/* Per class: the number of blocks at the last look, and the number of earlier looks with the same number. */
struct record {
  struct record *next; /* the record of the next context */
  uint64_t state;      /* state_of, at the last look for threads at rest */
  uint16_t seen[HAK_CLASSES];
};

static struct {
  struct hak_lock turn;
  struct record *records;
  uint32_t asked_ms; /* when a thread last starved */
  uint32_t looks;    /* still to do for that thread */
} g_drain;


/* A context with classes closed for a drain. */
struct visit {
  struct hak_context *x;
  uint32_t visits;
  uint64_t closed[HAK_CLASS_WORDS];
};

static HAK_RARE struct visit g_visits[BATCH]; /* of the thread with the turn; not on the stack, which may be small */

/* The barrier is a kernel call that malloc does not need: the filter of a sandbox may end the process for the call. */
static bool may_drain(void) {
  static bool asked; /* the first question is a kernel call */
  if (hak_os_filter_came() || !hak_load(&g_allowed) || hak_setting(background_thread) == 0) return false;
  if (!hak_load(&asked) && hak_os_look_for_filter()) return false;
  hak_store(&asked, true);
  return hak_os_has_barrier();
}

/* False in a child of vfork: the magazines belong to the parent's threads. */
static bool make_barrier(void) { return hak_is_own_process() && !hak_os_filter_came() && hak_os_barrier(); }

/* ---- which classes ---- */

static struct record *next_record(struct record **link) {
  if (*link == NULL) {
    struct record *record = hak_meta_get(sizeof *record);
    if (record == NULL) return NULL;
    *record = (struct record){.next = NULL};
    hak_store_release(link, record);
  }
  return *link;
}

/* True if the number of blocks was the same at so many looks before this one. */
static bool is_idle(uint16_t *seen, size_t blocks, size_t same) {
  size_t looks = (*seen & BLOCKS_MASK) == blocks ? hak_min((*seen >> BLOCKS_BITS) + 1, SAME_LOOKS) : 0;
  *seen = (uint16_t)(looks << BLOCKS_BITS | blocks);
  return looks >= same;
}

/* Looks that a class must stay the same for; 0: none, every class with blocks is wanted. */
static size_t looks_of(enum choice choice) {
  return choice == IDLE ? SAME_LOOKS : choice == IDLE_SOON ? SOON_LOOKS : 0;
}

static bool wants_drain(const struct hak_context *x, unsigned c, struct record *record, size_t same) {
  if (hak_load(&x->capacity[c]) == 0 || hak_has_class(x->emptied, c)) return false;
  return same == 0 || is_idle(&record->seen[c], hak_magazine_blocks(x, c) & BLOCKS_MASK, same);
}

/* A hash that stays the same while the thread neither visits a slow path nor changes its number of blocks. */
static uint64_t state_of(const struct hak_context *x) {
  uint64_t state = hak_load_acquire(&x->visits);
  for (unsigned w = 0; w < HAK_CLASS_WORDS; w++) {
    for (uint64_t left = hak_load_acquire(&x->touched[w]); left != 0; left &= left - 1) {
      state = state * 31 + hak_magazine_blocks(x, w * 64 + hak_lowest_bit(left));
    }
  }
  return state;
}

static bool is_at_rest(const struct hak_context *x, struct record *record) {
  uint64_t state = state_of(x);
  bool same = state == record->state;
  record->state = state;
  return same;
}

/* ---- a batch ---- */

/* Closes the wanted classes of x. True if there were any. */
static bool close_due_locked(struct visit *visit, struct hak_context *x, struct record *record, size_t same) {
  uint64_t any = 0;
  *visit = (struct visit){.x = x, .visits = hak_load_acquire(&x->visits)};
  for (unsigned w = 0; w < HAK_CLASS_WORDS; w++) {
    for (uint64_t left = hak_load_acquire(&x->touched[w]); left != 0; left &= left - 1) {
      unsigned c = w * 64 + hak_lowest_bit(left);
      if (!wants_drain(x, c, record, same) || visit->visits % 2 != 0) continue;
      hak_magazine_close(x, c);
      visit->closed[w] |= left & -left;
    }
    any |= visit->closed[w];
  }
  return any != 0;
}

/* The position of a drain: the next context, and the link to the context's record. */
struct walk {
  enum choice choice;
  struct hak_context *x;
  struct record **link;
};

static bool may_close_locked(const struct walk *walk, struct record *record) {
  bool other = walk->x != hak_context && hak_load_acquire(&walk->x->in_use);
  return other && (walk->choice != RESTING || is_at_rest(walk->x, record));
}

/* False: no memory for a record; *closed: some classes were closed. */
static bool close_next_locked(struct walk *walk, struct visit *visit, bool *closed) {
  struct record *record = walk->choice != ALL ? next_record(walk->link) : NULL;
  *closed = false;
  if (walk->choice != ALL && record == NULL) return false;
  if (may_close_locked(walk, record)) *closed = close_due_locked(visit, walk->x, record, looks_of(walk->choice));
  if (record != NULL) walk->link = &record->next;
  return true;
}

/* Closes the wanted classes of the next contexts, at most BATCH; returns the number of visits. */
static unsigned close_some_locked(struct walk *walk, struct visit *visits) {
  unsigned n = 0;
  for (unsigned seen = 0; walk->x != NULL && seen < BATCH; seen++) {
    bool closed, ok = close_next_locked(walk, &visits[n], &closed);
    n += closed;
    walk->x = ok ? hak_registry_next(walk->x) : NULL;
  }
  return n;
}

/* Like close_some_locked, with a barrier: the owners see the closed classes. An owner inside a slow path since the
 * closing is skipped, as the state of its classes is unknown; without a barrier every owner is skipped. */
static unsigned close_some(struct walk *walk, struct visit *visits) {
  hak_lock_take(&g_closed_lock);
  unsigned n = close_some_locked(walk, visits);
  bool known = n != 0 && make_barrier();
  for (unsigned i = 0; i < n; i++) {
    if (!known || hak_load_acquire(&visits[i].x->visits) != visits[i].visits) visits[i].x = NULL;
  }
  hak_lock_drop(&g_closed_lock);
  return n;
}

static void empty_classes(const struct visit *visit, struct hak_fault *fault) {
  for (unsigned w = 0; w < HAK_CLASS_WORDS; w++) {
    for (uint64_t left = visit->closed[w]; left != 0; left &= left - 1) {
      hak_lock_take(&g_closed_lock);
      hak_magazine_empty(visit->x, w * 64 + hak_lowest_bit(left), fault);
      hak_lock_drop(&g_closed_lock);
    }
  }
}

static bool drained_enough(enum choice choice) { return choice == RESTING && !hak_magazine_is_short(); }

static void drain_contexts(struct walk walk, struct hak_fault *fault) {
  while (walk.x != NULL && !drained_enough(walk.choice)) {
    unsigned n = close_some(&walk, g_visits);
    for (unsigned i = 0; i < n; i++) {
      if (g_visits[i].x != NULL) empty_classes(&g_visits[i], fault);
    }
  }
}

/* ---- drains ---- */

static void take_turn_and_drain(enum choice choice, struct hak_fault *fault) {
  hak_lock_take(&g_drain.turn);
  if (may_drain()) drain_contexts((struct walk){choice, hak_registry_first(), &g_drain.records}, fault);
  hak_lock_drop(&g_drain.turn);
}

void hak_drain_all(struct hak_fault *fault) {
  if (hak_registry_count() > 1 && may_drain()) take_turn_and_drain(ALL, fault);
}

void hak_drain_idle(struct hak_fault *fault, bool soon) { take_turn_and_drain(soon ? IDLE_SOON : IDLE, fault); }

/* ---- starving threads ---- */

/* While all free memory is held, no background thread starts for a starving thread: the start is a kernel call and
 * fetches pages, which the starving thread may not be allowed. */
void hak_drain_ask(uint64_t reserved) {
  enum { A_LOOK_AND_ANOTHER = 2 };
  if (hak_holds_all()) return;
  uint32_t now = (uint32_t)hak_os_now_ms();
  if (now - hak_load(&g_drain.asked_ms) < ASK_MS) return;
  hak_store(&g_drain.asked_ms, now);
  hak_store_release(&g_drain.looks, A_LOOK_AND_ANOTHER);
  if (hak_background_serves(reserved)) hak_background_wake();
}

uint64_t hak_drain_asked(void) {
  struct hak_fault fault = {HAK_ERROR_none, NULL};
  uint32_t looks = hak_load_acquire(&g_drain.looks);
  if (looks == 0) return UINT64_MAX;
  take_turn_and_drain(RESTING, &fault);
  if (hak_magazine_is_short()) hak_magazine_age_depot(&fault);
  looks = hak_magazine_is_short() ? looks - 1 : 0;
  hak_store(&g_drain.looks, looks);
  hak_slab_report(&fault, NULL);
  return looks != 0 ? REST_MS : UINT64_MAX;
}

void hak_drain_finish(void) {
  if (hak_self.in_allocator) return; /* a signal handler that interrupts a slow path must not wait */
  hak_lock_take(&g_drain.turn);
  hak_lock_drop(&g_drain.turn);
}
