/* caretaker.h: what concerns all threads and boxes at once.
 *
 * what      The repair of what a fork cut; the bytes freed, by which slow doors know when it is time to look at what
 *           has grown old; and one rule between boxes: memory kept free (big blocks in their cache, dirty runs) does
 *           not raise the peak. When more may hold pages than ever before, what is kept free goes back first; but no
 *           more per millisecond than costs a few percent of the time to fault in again: where sizes come and go,
 *           memory kept free raises the peak in small steps until none has to go back.
 *
 *               footprint                 ____/~~~~\____/~~  <= peak, soft limit and control group allowing
 *
 * owner     g_caretaker (in caretaker.c).
 * locks     Only the boxes', inside their calls.
 * orders    The generation is stored with release after the repair.
 * hot path  No; one comparison per slow door.
 * failure   None.
 * not here  Noticing a fork: os/fork.h.
 */
#ifndef HAK_FRONT_CARETAKER_H
#define HAK_FRONT_CARETAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "core/footprint.h"
#include "front/pressure.h"
#include "os/fork.h"
#include "os/lock.h"

/* Freed between two looks at what has grown old, whatever was taken again; a run's bytes count for less. */
enum { HAK_LOOK_BYTES = 16 << 20, HAK_RUN_WEIGHT = 128, HAK_LOOK_SOON = 256 << 10 };
/* By how much the footprint grows between two looks at the peak; and the share of what goes back by which the peak
 * rises all the same, so that a program that needs it again and again gets to keep it. */
enum { HAK_PEAK_STEP = 256 << 10, HAK_PEAK_CREEP = 8 };

struct hak_context;
struct hak_caretaker {
  uint64_t repaired_generation; /* of forks */
  struct hak_context *to_bury;  /* the next context whose thread may have vanished in the last fork; NULL: none */
  uint64_t look_at;             /* a footprint above this is reason to look at the peak */
  uint64_t peak_bytes;          /* the most that could not be avoided */
  uint64_t given_bytes;         /* back of late, a leaking bucket */
  uint64_t given_ms;            /* when it was last looked at */
  int64_t freed_bytes;          /* since the last look, while nobody watches */
  int64_t net_bytes;            /* that went to slabs, less those that were taken */
  int64_t due_bytes;            /* so many are reason to look, too */
  bool due;                     /* one of both has come to be */
  bool watched;                 /* the helper thread is awake */
};
extern HAK_HIDDEN struct hak_caretaker g_caretaker;

/* Is this a fork's child that was not repaired yet, or was much freed? */
static inline bool hak_caretaker_is_due(void) {
  return hak_fork_happened() ||
         hak_load_acquire(&g_caretaker.repaired_generation) != hak_load(&g_fork.generation) ||
         hak_load(&g_caretaker.due);
}

/* Takes some magazines of vanished threads apart, or lets grow old. At the head of a slow door, with no lock held. */
void hak_caretaker_act(void);

/* Takes all of them apart. */
void hak_caretaker_bury_all(void);

/* Gives back what is kept free and would raise the peak. */
void hak_caretaker_balance(void);

/* After memory was taken: does more hold pages than ever before? */
static inline void hak_caretaker_grew(void) {
  bool peak = hak_footprint() > hak_load(&g_caretaker.look_at);
  if (HAK_UNLIKELY(peak || hak_pressure_is_due(0))) hak_caretaker_balance();
}

/* Adds, without a lock prefix while there is one thread. */
static inline void hak_caretaker_add(int64_t *cell, int64_t bytes) {
  if (hak_alone()) hak_store(cell, hak_load(cell) + bytes);
  else hak_add(cell, bytes);
}

static inline void hak_caretaker_reckon(int64_t freed, int64_t net) {
  struct hak_caretaker *g = &g_caretaker;
  hak_caretaker_add(&g->freed_bytes, freed);
  if (net != 0) hak_caretaker_add(&g->net_bytes, net);
  bool due = hak_load(&g->freed_bytes) >= HAK_LOOK_BYTES || hak_load(&g->net_bytes) > hak_load(&g->due_bytes);
  if (HAK_UNLIKELY(due)) hak_store(&g->due, true);
}

/* So many bytes of slots went back to slabs, or were taken from them. */
static inline void hak_caretaker_freed(size_t bytes) {
  if (!hak_load(&g_caretaker.watched)) hak_caretaker_reckon((int64_t)bytes, (int64_t)bytes);
}
static inline void hak_caretaker_taken(size_t bytes) {
  hak_pressure_taken(bytes);
  if (!hak_load(&g_caretaker.watched)) hak_caretaker_add(&g_caretaker.net_bytes, -(int64_t)bytes);
}

/* Looks at what has grown old, or has the helper thread do it. */
void hak_caretaker_look(void);

/* A run or a big block went back. That needs no search, so it weighs little; but too much of it goes at once, since the
 * program may not call again for long. */
static inline void hak_caretaker_freed_run(size_t bytes) {
  if (hak_load(&g_caretaker.watched)) return;
  hak_caretaker_reckon((int64_t)(bytes / HAK_RUN_WEIGHT), 0);
  if (HAK_UNLIKELY(hak_footprint_idles())) hak_caretaker_look();
}

/* The same of a big block: a program of several threads may not free anything else, and has a helper for it. */
void hak_caretaker_freed_big(size_t bytes);

/* The helper thread wakes up, or falls asleep. */
void hak_caretaker_watch(bool awake);

/* No memory was to be had: all that is free goes back, addresses too. False: there was none. */
bool hak_caretaker_rescue(void);

#endif
