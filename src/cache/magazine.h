/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* magazine.h: refill and flush, and how large a magazine may be.
 *
 * what      Bonwick and Adams' magazine layer (USENIX 2001), in halves or less: a refill brings up to half a
 *           magazine, a flush takes up to half of it, of the older blocks; a walk along a boundary costs few
 *           operations, and no call takes long.
 *
 *               empty:  1. depot   2. slabs          full:  1. depot, below its bound   2. slabs
 *
 *           Runs of 1 to 4 units have magazines too, with the large box in the place of the slabs. A run is dear to
 *           keep, so theirs open with room for one, and grow, only where refill and flush follow one upon the other, or
 *           where a burst of them stays free anyway, and a refill brings no more fresh pages than are asked for.
 *
 *           Capacity doubles at a miss while the budgets allow; when they do not, the hand of a clock takes half
 *           from a class that has not missed since it last passed (second chance, Corbató 1968).
 *           The budget counts what a magazine may come to hold before its next slow door, as between two of them no
 *           call counts; of one that was emptied, what it holds. So it bounds the blocks held, and what idle threads
 *           reserved is theirs only until someone starves (drain_idle.h).
 * owner     The context's thread; g_budget (in magazine.c) counts what all threads reserved.
 * locks     None held while the boxes are called, but the drain lock (drain_idle.h) for a class that is emptied or was.
 * orders    The budget is relaxed. A flush shortens the magazine before it puts blocks back: a cut leaks blocks.
 * failure   No memory or no budget: the class stays closed and its calls go to the slabs one by one.
 * not here  Counting calls: slow_path.c.
 */
#ifndef HAK_CACHE_MAGAZINE_H
#define HAK_CACHE_MAGAZINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks/slab.h"
#include "cache/context.h"
#include "os/lock.h"
#include "retain/memory_limit.h"
#include "tables/settings.h"

/* The deepest source that served a call. */
enum hak_route { HAK_ROUTE_magazine, HAK_ROUTE_depot, HAK_ROUTE_slab, HAK_ROUTE_none };

/* What all threads reserved for their magazines and the depot. */
/* Held from the shutting of a class to the barrier, and while a shut class is emptied or opened (drain_idle.h). */
extern HAK_HIDDEN struct hak_lock g_shut_lock;

struct hak_budget {
  uint64_t bytes;
};
extern HAK_HIDDEN struct hak_budget g_budget;

/* What they may reserve. */
static inline uint64_t hak_magazine_budget(void) {
  return hak_min(hak_setting(process_cache_bytes), hak_load(&g_memory_limit.cache_bytes));
}

/* Takes a block of a slab's class c, refilling when the magazine is empty; NULL: no memory. x may be NULL. *fault: what
 * was found wrong with blocks that had to go back; error is HAK_ERROR_none when nothing was. */
void *hak_magazine_take(struct hak_context *x, unsigned c, enum hak_route *route, struct hak_fault *fault);

/* Stores p of class c, flushing when the magazine is full. x may be NULL. *fault as above. */
enum hak_route hak_magazine_put(struct hak_context *x, unsigned c, void *p, struct hak_fault *fault);

/* The same for classes of runs. A thread's magazine serves a malloc where it has one, or gets one now. A miss of a free
 * that no magazine could serve is noted. */
bool hak_magazine_serves_run(struct hak_context *x, unsigned c);
void hak_magazine_missed_run(struct hak_context *x, unsigned c);
void *hak_magazine_take_run(struct hak_context *x, unsigned c, struct hak_fault *fault);
void hak_magazine_put_run(struct hak_context *x, unsigned c, void *p, struct hak_fault *fault);

/* Empties the context of a thread that has ended and retires it for the next one. */
void hak_magazine_bury(struct hak_context *x, struct hak_fault *fault);

/* Puts all blocks back and gives the arrays, slabs and budget up. */
void hak_magazine_close_all(struct hak_context *x, struct hak_fault *fault);

/* Puts the depot's blocks of all classes back to the slabs. *fault is set when one was wrong. */
void hak_magazine_drain_depot(struct hak_fault *fault);

/* The same of one class. */
void hak_magazine_drain_class(unsigned c, struct hak_fault *fault);

/* The same for classes whose depot was neither given nor asked for anything since the last call. */
void hak_magazine_age_depot(struct hak_fault *fault);

/* For draining (drain_idle.c), under its lock. Shuts class c: its calls take the slow door, which waits for it. */
void hak_magazine_shut(struct hak_context *x, unsigned c);

/* When every thread has seen that, and the owner has not been inside a slow door since before: puts all blocks back but
 * the last, and gives their budget up. Not if the owner opened the class again, under the lock. */
void hak_magazine_empty(struct hak_context *x, unsigned c, struct hak_fault *fault);

enum { HAK_DEPOT_BYTES = 64 << 10 }; /* per class and thread, as usual */

/* Is less than a quarter of all caches' budget free? */
bool hak_magazine_is_short(void);

/* Sets the marks of this context, or of all, by whether calls are to be counted. */
void hak_magazine_mark(struct hak_context *x);
void hak_magazine_mark_all(void);

/* Bytes of blocks in all magazines and in the depot: exact when no other thread is inside a call and there were never
 * more than 1,024 threads at once; of more, the younger ones' magazines are taken to be as full as the oldest ones'. */
uint64_t hak_magazine_cached_bytes(void);

/* Does p lie in some thread's magazine? What moves meanwhile may be missed. Signal-safe. */
bool hak_magazine_holds(unsigned c, const void *p);

/* Blocks of class c in this context's magazine. */
size_t hak_magazine_blocks(const struct hak_context *x, unsigned c);

#endif
