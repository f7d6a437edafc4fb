/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* alone.h: how many threads and processes share this memory.
 *
 * what      Each question that sounds like "one thread?", what its answer means, and the code that asks.
 *
 *               question                  yes means                                asked by
 *               hak_is_single_threaded    libc made no thread so far: no other     locks and counters (no lock
 *                                         runs this library's code meanwhile       prefix), the background thread
 *               hak_is_first_thread       the caller is the thread that the        fork.c (it called fork), the
 *                                         process began with, or that forked       background thread, once parted
 *               hak_is_own_process        no parent shares this memory: not in     exit hook, limits, barrier,
 *                                         a child of vfork                         the background thread
 *               hak_registry_count() < 2  no other thread has magazines            depot, drain, exit hook
 *                                         (cache/registry.h)
 *               hak_fork_left_behind      the thread of this number is none of     locks, after a fork
 *                                         this process (fork.h)
 *           Words that are written on a yes of the first go through hak_set_unshared (base/atomic.h).
 * locks     None. The first is a load, the next two are kernel calls.
 * not here  Which process and which generation this is: fork.h.
 */
#ifndef HAK_OS_ALONE_H
#define HAK_OS_ALONE_H

#include <stdbool.h>
#include <sys/single_threaded.h>

#include "base/config.h"

static inline bool hak_is_single_threaded(void) { return HAK_ELIDE_LOCKS && __libc_single_threaded; }

bool hak_is_first_thread(void);

/* What a child of vfork does for itself its parent would believe of itself, as both share memory. False, too, while
 * there is no page (fork.h), in a fork's child that libc did not make: clone, fork as bare kernel calls. A kernel call
 * or two, and in a program of threads a file of /proc before: where a filter may forbid the question it is not asked,
 * and the answer is true. */
bool hak_is_own_process(void);

#endif
