/* registry.h: the contexts of all threads.
 *
 * what      A list that only grows; a context whose thread ended is used again by the next one.
 *
 *               newest -> ... -> oldest        each: in use or free, and of one of four colours
 *
 * owner     g_registry (in registry.c); a context in use belongs to its thread.
 * locks     g_registry.lock, before all others.
 * orders    The list's head is published with release; in_use is released after the context is ready.
 * hot path  No.
 * failure   NULL: no memory for a context.
 * not here  When threads begin and end: thread.h.
 */
#ifndef HAK_FRONT_REGISTRY_H
#define HAK_FRONT_REGISTRY_H

#include <stdint.h>

#include "front/context.h"

/* A context for the calling thread, or NULL. */
struct hak_context *hak_registry_claim(void);

/* Gives an emptied context to whoever needs one. */
void hak_registry_retire(struct hak_context *x);

/* The newest context ever made; follow `next`. */
struct hak_context *hak_registry_first(void);

/* Contexts in use. */
uint32_t hak_registry_count(void);

#endif
