/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* drain_idle.h: empties the magazines of other threads.
 *
 * what      The full magazines of an idle thread pin pages all over the heap. A drain empties the magazines from
 *           outside, without an instruction on the fast path (cache/context.h says why that is sound):
 *
 *               close the classes of up to 64 threads   ->   one kernel barrier   ->   empty these, class by class
 *                 \- the owners' calls take the slow path      \- threads that visited a slow path are skipped
 *
 *           hak_drain_all takes every class; hak_drain_idle takes classes whose number of blocks stayed the same for
 *           the rent time of a page, or for a fourth of that time where much free memory lies beside what is handed
 *           out, as a block pins a page. A thread that finds the budget of all caches used up (a starving thread) need
 *           not wait that long: the background thread looks at all threads twice, 16 ms apart, and drains the threads
 *           that did nothing in between, until a quarter of the budget is free.
 *
 *               starving thread --ask--> background thread: look --16 ms--> look, drain          at most every 64 ms
 * owner     The records of earlier looks: the thread with the turn.
 * locks     g_drain.turn: one drain at a time. Under the turn g_closed_lock (cache/magazine.h), which the slow paths of
 *           closed classes and statistics take, too: held from closing to the barrier, and while a class is emptied.
 * orders    The kernel barrier between closing and emptying; all else is under g_closed_lock.
 * hot path  No: a slow path counts its visit and tests a bit.
 * failure   Without a barrier, as in a sandbox, nothing is drained. Without memory for records the younger threads are
 *           skipped.
 * not here  Opening a closed class again, and the budget of a class: cache/magazine.c.
 */
#ifndef HAK_RECLAIM_DRAIN_IDLE_H
#define HAK_RECLAIM_DRAIN_IDLE_H

#include "blocks/slab.h"
#include "os/lock.h"

/* Drains all classes of all threads but the calling thread. *fault is set if a block was wrong. */
void hak_drain_all(struct hak_fault *fault);

/* Drains the classes whose number of blocks did not change over the last calls; soon: since the last call. */
void hak_drain_idle(struct hak_fault *fault, bool soon);

/* The calling thread starves, and all threads together have reserved `reserved` bytes: the background thread will check
 * whether the reserved bytes are used. In a slow path, no lock held: only wakes or starts the background thread. */
void hak_drain_ask(uint64_t reserved);

/* In the background thread: takes the next look for a starving thread. Returns the time until the look after that [ms];
 * UINT64_MAX: no further look. */
uint64_t hak_drain_asked(void);

/* Waits for the drain under way. After hak_background_forbid and this call no thread makes a barrier. */
void hak_drain_finish(void);

#endif
