/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* registry.c: the contexts of all threads.
 *
 * what      See registry.h.
 * owner     g_registry.
 * locks     g_registry.lock. After a fork with the lock held, `idle`, `last` and `count` are rebuilt from the
 *           contexts' in_use. No context that was parked before a fork is taken after it: it is emptied first, like
 *           those of vanished threads (after_fork.h).
 * failure   NULL.
 * not here  The fields of a context: context.h.
 */
#include "cache/registry.h"

#include "base/bits.h"
#include "os/fork.h"
#include "os/lock.h"
#include "tables/meta.h"

struct hak_registry g_registry;

struct hak_context *hak_registry_first(void) { return hak_load_acquire(&g_registry.first); }
uint32_t hak_registry_count(void) { return hak_load(&g_registry.count); }

enum {
  PARKED_UNITS = 64, /* with blocks of parked contexts, at most: a block may hold the dirty pages of its slab */
  LEAST_UNITS = 1    /* a context counts as at least so many */
};
enum { NOT_PARKED, PARKED, PARKED_LONG };

static void rebuild_registry(void) {
  uint32_t count = 0;
  g_registry.idle = NULL;
  for (struct hak_context *x = g_registry.first; x != NULL; x = hak_registry_next(x)) {
    g_registry.last = x;
    x->parked = NOT_PARKED; /* it counts as in use until it is buried */
    count += hak_load_acquire(&x->in_use);
    if (hak_load_acquire(&x->in_use)) continue;
    x->idle = g_registry.idle;
    g_registry.idle = x;
  }
  hak_store(&g_registry.count, count);
}

static void take_registry_lock(void) {
  if (hak_lock_take(&g_registry.lock)) rebuild_registry();
  uint64_t generation = hak_load(&g_fork.generation);
  if (HAK_LIKELY(g_registry.generation == generation)) return;
  g_registry.generation = generation;
  hak_store(&g_registry.parked, NULL);
  g_registry.parked_units = 0;
}

static struct hak_context *make_context_locked(void) {
  struct hak_context *x = hak_meta_get_for_good(sizeof *x);
  if (x == NULL) return NULL;
  *x = (struct hak_context){.next = NULL};
  hak_class_table(x->small_class, g_registry.made++ % HAK_COLORS);
  __builtin_memcpy(x->run_class, g_run_class, sizeof x->run_class);
  hak_store_release(g_registry.last == NULL ? &g_registry.first : &g_registry.last->next, x);
  g_registry.last = x;
  return x;
}

static struct hak_context *idle_or_new_locked(void) {
  struct hak_context *x = g_registry.idle;
  if (x == NULL) return make_context_locked();
  g_registry.idle = x->idle;
  return x;
}

/* Takes the context at *link out of the list of parked ones. NULL: there is none. */
static struct hak_context *unpark_locked(struct hak_context **link) {
  struct hak_context *x = *link;
  if (x == NULL) return NULL;
  hak_store(link, x->idle);
  x->parked = NOT_PARKED;
  g_registry.parked_units -= x->parked_units;
  return x;
}

struct hak_context *hak_registry_claim(void) {
  take_registry_lock();
  struct hak_context *x = unpark_locked(&g_registry.parked);
  if (x == NULL) x = idle_or_new_locked();
  if (x != NULL) {
    x->token = hak_self_token();
    x->generation = hak_load(&g_fork.generation);
    hak_store(&g_registry.count, g_registry.count + 1);
    hak_store_release(&x->in_use, true);
  }
  hak_lock_drop(&g_registry.lock);
  return x;
}

void hak_registry_retire(struct hak_context *x) {
  take_registry_lock();
  hak_store_release(&x->in_use, false);
  x->idle = g_registry.idle;
  g_registry.idle = x;
  if (x->parked == NOT_PARKED) hak_store(&g_registry.count, g_registry.count - 1); /* else: parked before a fork */
  x->parked = NOT_PARKED;
  hak_lock_drop(&g_registry.lock);
}

bool hak_registry_park(struct hak_context *x, size_t units) {
  units = hak_max(units, LEAST_UNITS);
  take_registry_lock();
  bool fits = g_registry.parked_units + units <= PARKED_UNITS;
  if (fits) {
    g_registry.parked_units += x->parked_units = (uint16_t)units;
    x->parked = PARKED;
    x->idle = g_registry.parked;
    hak_store(&g_registry.parked, x);
    hak_store(&g_registry.count, g_registry.count - 1);
  }
  hak_lock_drop(&g_registry.lock);
  return fits;
}

/* The link to the last context of the list that was parked long ago: these are behind all others. */
static struct hak_context **parked_long_locked(void) {
  struct hak_context **link = &g_registry.parked;
  while (*link != NULL && (*link)->parked != PARKED_LONG) link = &(*link)->idle;
  return link;
}

struct hak_context *hak_registry_unpark(bool all) {
  if (hak_load(&g_registry.parked) == NULL) return NULL;
  take_registry_lock();
  struct hak_context *x = unpark_locked(all ? &g_registry.parked : parked_long_locked());
  if (x != NULL) hak_store(&g_registry.count, g_registry.count + 1);
  for (struct hak_context *one = x == NULL ? g_registry.parked : NULL; one != NULL; one = one->idle) {
    one->parked = PARKED_LONG;
  }
  hak_lock_drop(&g_registry.lock);
  return x;
}
