/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* background_thread.h: the thread that gives memory back while the program idles.
 *
 * what      Started by a slow door of a program that has several threads, when there is enough to give back; ends when
 *           nothing is left to do, before the last thread but one ends, and before a call that concerns every thread
 *           of the process. While there is none the slow doors do its work.
 *
 *               much was freed --start--> [ pass, wait, pass ... ] --nothing left, or stop--> ends
 *
 *           In a process that shuts itself into a sandbox there is none from then on: its kernel calls (clone, exit)
 *           are not those of a malloc.
 * owner     g_background (in background_thread.c).
 * locks     Its phase, which a thread that stops it waits on.
 * orders    The phase is released after what it tells of, and acquired before that is used.
 * failure   A thread that cannot be made: the slow doors do its work.
 * not here  What a pass does: release.h. The calls before which it ends: api/process.c.
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

/* For a program that has the hak_ names only: a test, the model. */
static inline void hak_background_allow(void) { hak_store(&g_allowed, true); }

/* By that and the settings. */
static inline bool hak_background_is_allowed(void) {
  return hak_load(&g_allowed) && hak_setting(background_thread) != 0;
}

/* Never again, and not now. */
void hak_background_forbid(void);

/* Is there one, or could one be started, that gives `idle` bytes back? False: do its work yourself. */
bool hak_background_serves(size_t idle);

/* Lets it look at the settings again. */
void hak_background_wake(void);

/* It has ended, and the kernel knows of it no more, when this returns: after its present batch of kernel calls. */
void hak_background_stop(void);

/* It ends, and does not begin again before as many have released it as hold it. */
void hak_background_hold(void);
void hak_background_release(void);

/* Held and joined: waits until the kernel does not count it any more. */
void hak_background_vanish(void);

/* The calling thread has descriptors, a folder or namespaces of its own from now on. A helper shares its maker's, and
 * would keep them when that has ended: from now on the process's first thread makes it. */
void hak_background_part(void);

/* What it is about to give back has gone when this returns: it has ended, and the next slow door may start it. */
void hak_background_finish(void);

/* The calling thread ends: if but one other is left, the helper goes first, and what it would have given back. */
void hak_background_thread_ends(void);

/* What the helper does until it is stopped or nothing is left to do. Also for tests, on a thread of theirs. */
void hak_background_serve(void);

#endif
