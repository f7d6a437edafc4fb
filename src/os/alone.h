/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* alone.h: how many threads and processes share this memory.
 *
 * what      Each question that sounds like "one thread?", the meaning of yes, and the callers.
 *
 *               question                  yes means                                asked by
 *               hak_is_single_threaded    libc has made no thread so far: no       locks and counters (no lock
 *                                         second thread runs this library's code   prefix), the background thread
 *               hak_is_first_thread       the caller is the first thread of the    fork.c, the background thread
 *                                         process, in a child the thread that      in a process whose threads differ
 *                                         called fork                              in descriptors or namespaces
 *               hak_is_own_process        no parent shares this memory: not in     exit hook, limits, barrier,
 *                                         a child of vfork                         the background thread
 *               hak_registry_count() < 2  no second thread has magazines           depot, drain_idle, exit hook
 *                                         (cache/registry.h)
 *               hak_os_threads_seen < 2   the kernel counted no second thread      the background thread
 *                                         at the last look (thread.h)
 *               hak_fork_left_behind      the thread of this number is not in      locks, after a fork
 *                                         this process (fork.h)
 *           Where libc does not tell (libc.h) hak_is_single_threaded says no.
 *           After a yes of hak_is_single_threaded locks are taken by hak_set_unshared (base/atomic.h) and counters are
 *           updated by a load and a store.
 * locks     None. hak_is_single_threaded is a load, hak_is_first_thread and hak_is_own_process are kernel calls.
 * not here  The identity of the process and the generation: fork.h.
 */
#ifndef HAK_OS_ALONE_H
#define HAK_OS_ALONE_H

#include <stdbool.h>

#include "base/config.h"
#include "os/libc.h"

static inline bool hak_is_single_threaded(void) { return HAK_ELIDE_LOCKS && HAK_LIBC_IS_SINGLE; }

bool hak_is_first_thread(void);

/* False in a child of vfork: parent and child share memory, so the parent would take the child's state for the parent's
 * own. Also false in the child of a bare clone or fork kernel call while fork.h has no page. Makes a kernel call or
 * two; a process of several threads reads a file of /proc before. True without the kernel calls after an unannounced
 * seccomp filter (thread.h), which may forbid the calls. */
bool hak_is_own_process(void);

#endif
