/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* registry.h: the contexts of all threads.
 *
 * what      A list that only grows; a context whose thread ended is used again by the next one.
 *
 *               oldest -> ... -> newest        each: in use or idle, and of one of four colours
 *               idle -> idle -> ...            what the next thread gets, however many there are
 *
 * owner     g_registry (in registry.c); a context in use belongs to its thread.
 * locks     g_registry.lock, before all others.
 * orders    The list's links are published with release; in_use is released after the context is ready.
 * failure   NULL: no memory for a context.
 * not here  When threads begin and end: thread.h.
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
  struct hak_context *idle; /* those that are not in use, by `idle` */
  uint32_t count;           /* contexts in use */
  uint32_t made;
};
extern HAK_HIDDEN struct hak_registry g_registry;

/* A context for the calling thread, or NULL. */
struct hak_context *hak_registry_claim(void);

/* Gives an emptied context to whoever needs one. */
void hak_registry_retire(struct hak_context *x);

/* The oldest context, and the one made after this; NULL: none. */
struct hak_context *hak_registry_first(void);
static inline struct hak_context *hak_registry_next(const struct hak_context *x) { return hak_load_acquire(&x->next); }

/* Contexts in use. */
uint32_t hak_registry_count(void);

#endif
