/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* thread.h: threads begin and end; the process starts.
 *
 * what      A thread's first slow door, its exit hook, and the constructor.
 *
 *               first door: claim a context -> mark it -> remember to give it back     exit: empty it -> retire it
 *
 * owner     g_thread (in thread.c).
 * locks     None of its own.
 * orders    None of its own.
 * failure   No memory: the thread runs without a context, its calls go to the boxes one by one.
 * not here  What is done with a context: magazine.h.
 */
#ifndef HAK_ENTRY_THREAD_H
#define HAK_ENTRY_THREAD_H

#include <stdint.h>

#include "blocks/slab.h"
#include "cache/context.h"

/* Makes the calling thread's context; NULL when it cannot have one. */
struct hak_context *hak_thread_begin(void);

/* The calling thread's context, made if it has none; NULL when it cannot have one. */
static inline struct hak_context *hak_thread_context(void) {
  return HAK_LIKELY(hak_context != &g_empty_context) ? hak_context : hak_thread_begin();
}

/* Calls this, which may ask for memory, once before the first block is handed out, or at once when one was. At load,
 * when there is one thread. Where the first block is asked for on a stack of the program's it is not called: a loader
 * that binds a name of its own takes 3 KiB. */
void hak_process_at_first_block(void (*also)(void));

/* False in a child of vfork: what it does for itself must not be done to its parent. A kernel call. */
bool hak_process_is_own(void);

/* Asks the kernel, while it may be asked, what the first block would ask. */
void hak_process_prepare_for_sandbox(void);

/* Reads the settings and begins to count, once: at the first slow door, which other libraries' constructors may reach
 * before this library's own runs. libc's constructor, which sets __environ, runs before all others. */
void hak_process_start(void);

#endif
