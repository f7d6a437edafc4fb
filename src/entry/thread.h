/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* thread.h: start and end of threads, start of the process.
 *
 * what      A thread's first slow path, its exit hook, and the constructor.
 *
 *              first slow path: claim a context -> set the exit hook
 *              exit: empty the context -> retire the context
 *
 * owner     g_thread (in thread.c).
 * locks     g_thread.lock (in thread.c), for the process's first block.
 * orders    None of its own.
 * failure   No memory: the thread runs without a context, and its calls go to src/blocks block by block.
 * not here  Magazines: cache/magazine.h.
 */
#ifndef HAK_ENTRY_THREAD_H
#define HAK_ENTRY_THREAD_H

#include <stdint.h>

#include "blocks/slab.h"
#include "cache/context.h"

/* Makes the calling thread's context; NULL: the thread cannot have a context. */
struct hak_context *hak_thread_begin(void);

/* The calling thread's context, made at first use; NULL: the thread cannot have a context. */
static inline struct hak_context *hak_thread_context(void) {
  return HAK_LIKELY(hak_context != &g_empty_context) ? hak_context : hak_thread_begin();
}

/* Calls `also`, which may allocate, once before the first block is handed out, or at once if a block was. Call at
 * load, while there is one thread. Not called if the first block is requested on a stack of the program's own: binding
 * a symbol takes the loader 3 KiB of stack. */
void hak_process_at_first_block(void (*also)(void));

/* False in a child of vfork, which must leave its parent's state alone. A kernel call. */
bool hak_process_is_own(void);

/* Before a sandbox: makes the kernel calls now that the first block would make. */
void hak_process_prepare_for_sandbox(void);

/* Reads the settings and starts counting, once: at the first slow path, which another library's constructor may reach
 * before this library's constructor runs. libc's constructor, which sets __environ, runs first of all. */
void hak_process_start(void);

#endif
