/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* background_thread.h: the thread that releases memory while the program idles.
 *
 * what      Started in a slow path of a program with several threads, when enough memory is free. The kernel counts the
 *           threads: one that never allocates counts, too. Ends when nothing is left to release, before the last
 *           thread but one with magazines ends, at the next pass after the last thread without magazines ended, and
 *           before a call that concerns every thread of the process (api/process.c). While there is no background
 *           thread, slow paths do the work, and leave at most a bound (retain/rent.h).
 *
 *               much was freed --start--> [ pass, wait, pass ... ] --nothing left, or stop--> ends
 *
 *           A process that enters a sandbox has no background thread from then on: the kernel calls of a thread (clone,
 *           exit) are not those of malloc.
 * owner     g_background (in background_thread.c).
 * locks     The phase: a thread that stops the background thread waits for the phase to change.
 * orders    A phase is stored with release after the data of the phase, and acquired before the data is used.
 * failure   If no thread can be made, slow paths do the work.
 * not here  What a pass does: release.h. The calls before which the thread ends: api/process.c.
 */
#ifndef HAK_RECLAIM_BACKGROUND_THREAD_H
#define HAK_RECLAIM_BACKGROUND_THREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/allowed.h"
#include "os/thread.h"
#include "tables/settings.h"

/* Allows the background thread in a program that has only the hak_ names: a test, the model. */
static inline void hak_background_allow(void) { hak_store(&g_allowed, true); }

/* True if g_allowed and the settings allow the background thread. */
static inline bool hak_background_is_allowed(void) {
  return hak_load(&g_allowed) && hak_setting(background_thread) != 0;
}

/* Ends the background thread for good. */
void hak_background_forbid(void);

/* True if the background thread runs, or was just started for `idle` free bytes: the thread releases the memory. False:
 * the caller does the work. */
bool hak_background_serves(size_t idle);

/* Wakes the background thread to read the settings again. */
void hak_background_wake(void);

/* Ends the background thread after its present batch of kernel calls. On return the thread has left its stack. */
void hak_background_stop(void);

/* hold: ends the background thread, and prevents a start until every hold is released. */
void hak_background_hold(void);
void hak_background_release(void);

/* After hak_background_hold: waits until the kernel no longer counts the thread. */
void hak_background_vanish(void);

/* The calling thread gets separate descriptors, folders or namespaces. A background thread shares the descriptors,
 * folders and namespaces of its starter, even after the starter's end: from now on only the first thread of the process
 * starts a background thread. */
void hak_background_part(void);

/* Ends the background thread: all memory that the thread was releasing is released on return. The next slow path may
 * start the thread again. */
void hak_background_finish(void);

/* The calling thread ends. If only one thread is left after that, ends the background thread, and releases memory in
 * the background thread's place. */
void hak_background_thread_ends(void);

/* Runs passes until stopped, or until nothing is left to release. Also for tests, on a thread of the test. */
void hak_background_serve(void);

#endif
