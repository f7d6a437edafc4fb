/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* registry.h: the contexts of all threads.
 *
 * what      A list that only grows; the context of an ended thread is reused by the next new thread.
 *
 *              oldest -> ... -> newest        each in use or idle, each of one of four colours
 *              idle -> idle -> ...            the next thread gets the first: constant time for any number of contexts
 *
 * owner     g_registry (in registry.c); a context in use belongs to its thread.
 * locks     g_registry.lock, before all other locks.
 * orders    The list's links are published with release; in_use is stored with release after the context is ready.
 * failure   NULL: no memory for a context.
 * not here  Beginning and end of a thread: entry/thread.h.
 */
#ifndef HAK_CACHE_REGISTRY_H
#define HAK_CACHE_REGISTRY_H

#include <stdint.h>

#include "base/atomic.h"
#include "cache/context.h"
#include "os/lock.h"

struct hak_registry {
  struct hak_lock lock;
  struct hak_context *first, *last;
  struct hak_context *idle; /* contexts not in use, linked by `idle` */
  uint32_t count;           /* contexts in use */
  uint32_t made;
};
extern HAK_HIDDEN struct hak_registry g_registry;

/* Returns a context for the calling thread, or NULL. */
struct hak_context *hak_registry_claim(void);

/* Makes an emptied context free for the next new thread. */
void hak_registry_retire(struct hak_context *x);

/* The oldest context, and the context made after x; NULL: none. */
struct hak_context *hak_registry_first(void);
static inline struct hak_context *hak_registry_next(const struct hak_context *x) { return hak_load_acquire(&x->next); }

/* Contexts in use. */
uint32_t hak_registry_count(void);

#endif
