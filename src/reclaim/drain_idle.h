/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* drain_idle.h: the blocks in other threads' magazines go back.
 *
 * what      A thread that idles keeps its magazines full, and they pin pages all over the heap. Others can empty them,
 *           without an instruction on the fast path (context.h says why that is sound):
 *
 *               shut the classes of up to 64 threads   ->   one kernel barrier   ->   empty them, one by one
 *                 \- their calls take the slow door           \- threads that passed a slow door meanwhile are left
 *
 *           hak_drain_all takes every class, hak_drain_idle those that looked the same for a page's rent. A thread that
 *           finds all caches' budget used up does not wait for that: the helper looks at all threads twice, soon after
 *           one another, and empties those that did nothing between, until a quarter of the budget is free.
 *
 *               starves --ask--> helper: look --16 ms--> look, drain          at most every 64 ms
 * owner     The records of what classes looked like: whoever has the turn.
 * locks     The turn, one thread at a time; under it g_shut_lock, which slow doors of shut classes and statistics
 *           take, too: it is held from shutting to the barrier, and while one class is emptied.
 * orders    The barrier's; the rest is the lock's.
 * hot path  No; a slow door counts itself and looks at one bit.
 * failure   No barrier, as in a sandbox: nothing is drained. No memory for records: the younger threads are left alone.
 * not here  Opening what was shut, and what a class's budget is: magazine.c.
 */
#ifndef HAK_RECLAIM_DRAIN_IDLE_H
#define HAK_RECLAIM_DRAIN_IDLE_H

#include "blocks/slab.h"
#include "os/lock.h"

/* All classes of all other threads. *fault is set when a block was wrong. */
void hak_drain_all(struct hak_fault *fault);

/* Those that did not change for some calls of this. */
void hak_drain_idle(struct hak_fault *fault);

/* The calling thread needs budget, and all threads together have reserved so many bytes: the helper will see whether
 * they use them. At a slow door, with no lock held; it only wakes or starts the helper. */
void hak_drain_ask(uint64_t reserved);

/* What the helper owes to who asked; milliseconds after which there is more of it to do, or UINT64_MAX. */
uint64_t hak_drain_asked(void);

/* Nobody makes a barrier any more when this returns, once the helper is forbidden. */
void hak_drain_finish(void);

#endif
