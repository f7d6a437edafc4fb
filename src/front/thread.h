/* thread.h: threads begin and end; the process starts.
 *
 * what      The registry of contexts, the exit hook, the constructor.
 *
 *               contexts:  newest -> ... -> oldest        never freed; one whose thread ended is used again
 *
 * owner     g_threads (in thread.c).
 * locks     g_threads.lock, before all others (an exit returns magazines without it).
 * orders    The list only grows: head is published with release.
 * hot path  No.
 * failure   No memory: the thread runs without a context, its calls go to the boxes one by one.
 * not here  What is done with a context: magazine.h.
 */
#ifndef HAK_FRONT_THREAD_H
#define HAK_FRONT_THREAD_H

#include <stdint.h>

#include "box/slab.h"
#include "front/context.h"

/* The calling thread's context, made if it has none; NULL when it cannot have one. */
struct hak_context *hak_thread_context(void);

/* The newest context ever made; follow `next`. */
struct hak_context *hak_thread_first(void);

/* Threads that have a context. */
uint32_t hak_thread_count(void);

/* Reads the settings and begins to count, once: at the first slow door, which other libraries' constructors may reach
 * before this library's own runs. libc's constructor, which sets environ, runs before all others. */
void hak_thread_settle(void);
extern HAK_HIDDEN unsigned g_settled;

/* Empties the context of a thread that is gone and gives it to whoever needs one. */
void hak_thread_bury(struct hak_context *x, struct hak_fault *fault);

#endif
