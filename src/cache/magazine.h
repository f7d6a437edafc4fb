/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* magazine.h: refill, flush, and the capacity of a magazine.
 *
 * what      Bonwick and Adams' magazine layer (USENIX 2001), in halves or less: a refill brings up to half a magazine,
 *           a flush takes up to half of the magazine, the older blocks. So alternating calls at a boundary cost few
 *           operations, and no call takes long.
 *
 *              empty:  1. depot   2. slabs          full:  1. depot, below its limit   2. slabs
 *
 *           Run classes (1 to 4 units) have magazines too, with blocks/large.h in place of the slabs. A cached run is
 *           expensive: a run magazine opens, with capacity 1, and grows only where refills and flushes alternate, or
 *           in a burst whose runs stay free anyway. A refill brings at most one run with fresh pages.
 *
 *           Capacity doubles at a miss while the budgets allow. Otherwise the hand of a clock halves a class without a
 *           miss since the hand last passed (second chance, Corbató 1968).
 *           The budget counts capacity, as the fast path keeps no count of blocks; of an emptied class, the array
 *           alone. So the budget bounds the blocks in magazines. An idle thread's reservation ends when another thread
 *           finds no budget (reclaim/drain_idle.h).
 * owner     The context's thread; g_budget (in magazine.c) counts the bytes that all threads reserved.
 * locks     g_closed_lock for a class that is closed for a drain. No other lock is held over calls of src/blocks.
 * orders    The budget is relaxed. A flush shortens the magazine before blocks go back: a fork in between leaks
 *           blocks.
 * failure   No memory or no budget: the class has no magazine, and its calls go to slabs or runs block by block.
 * not here  Counting calls: entry/slow_path.c.
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

/* Held while classes are closed for a drain, up to and with the barrier, and while such a class is emptied or opened
 * (reclaim/drain_idle.h). */
extern HAK_HIDDEN struct hak_lock g_closed_lock;

/* Reserved for all threads' magazines and the depot. */
struct hak_budget {
  uint64_t bytes;
};
extern HAK_HIDDEN struct hak_budget g_budget;

/* [bytes] Limit of g_budget. */
static inline uint64_t hak_magazine_budget(void) {
  return hak_min(hak_setting(process_cache_bytes), hak_load(&g_memory_limit.cache_bytes));
}

/* Takes a block of slab class c, with a refill if the magazine is empty; NULL: no memory. x may be NULL. *fault: the
 * first wrong block among those put back; its error is HAK_ERROR_none if there is none. */
void *hak_magazine_take(struct hak_context *x, unsigned c, enum hak_route *route, struct hak_fault *fault);

/* Stores p of class c, with a flush if the magazine is full. x may be NULL. *fault as above. */
enum hak_route hak_magazine_put(struct hak_context *x, unsigned c, void *p, struct hak_fault *fault);

/* The same for run classes. serves_run: true if the thread has a magazine for a malloc or opens one now. missed_run:
 * records a free that no magazine could serve. */
bool hak_magazine_serves_run(struct hak_context *x, unsigned c);
void hak_magazine_missed_run(struct hak_context *x, unsigned c);
void *hak_magazine_take_run(struct hak_context *x, unsigned c, struct hak_fault *fault);
void hak_magazine_put_run(struct hak_context *x, unsigned c, void *p, struct hak_fault *fault);

/* Empties the context of a thread that has ended, and retires the context for reuse. */
void hak_magazine_bury(struct hak_context *x, struct hak_fault *fault);

/* Puts all blocks back and releases the arrays, current slabs and budget. */
void hak_magazine_end_all(struct hak_context *x, struct hak_fault *fault);

/* Puts the depot's blocks of all classes back to slabs and runs. *fault is set if a block was wrong. */
void hak_magazine_drain_depot(struct hak_fault *fault);

/* hak_magazine_drain_depot for one class. */
void hak_magazine_drain_class(unsigned c, struct hak_fault *fault);

/* hak_magazine_drain_depot for classes whose number of blocks in the depot is the same as at the last call. Locks:
 * none; one caller at a time. */
void hak_magazine_age_depot(struct hak_fault *fault);

/* For a drain, under g_closed_lock. Closes class c: its calls take the slow path, which waits for the lock. */
void hak_magazine_close(struct hak_context *x, unsigned c);

/* For a drain, under g_closed_lock, after a barrier in all threads, if x->visits is even and the same as before
 * hak_magazine_close. Puts all blocks but the last back and releases their budget. No effect if the owner has opened
 * the class in between. */
void hak_magazine_empty(struct hak_context *x, unsigned c, struct hak_fault *fault);

enum { HAK_DEPOT_BYTES = 64 << 10 }; /* [bytes] usual limit of the depot, per class and thread */

/* True if less than a quarter of the budget is free. */
bool hak_magazine_is_short(void);

/* [bytes] Blocks in all magazines and the depot. Exact if no other thread is inside a call and there were never more
 * than 1,024 threads at once; magazines of younger threads are taken to be as full as the first 1,024 threads'
 * magazines. */
uint64_t hak_magazine_cached_bytes(void);

/* True if p lies in a thread's magazine. A block that moves meanwhile may be missed. Signal-safe. */
bool hak_magazine_holds(unsigned c, const void *p);

/* Blocks of class c in the magazine of x. */
size_t hak_magazine_blocks(const struct hak_context *x, unsigned c);

#endif
