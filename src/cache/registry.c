/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* registry.c: the contexts of all threads.
 *
 * what      See registry.h.
 * owner     g_registry.
 * locks     g_registry.lock. After a fork with the lock held, `idle`, `last` and `count` are rebuilt from the
 *           contexts' in_use.
 * failure   NULL.
 * not here  The fields of a context: context.h.
 */
#include "cache/registry.h"

#include "os/fork.h"
#include "os/lock.h"
#include "tables/meta.h"

struct hak_registry g_registry;

struct hak_context *hak_registry_first(void) { return hak_load_acquire(&g_registry.first); }
uint32_t hak_registry_count(void) { return hak_load(&g_registry.count); }

static void rebuild_registry(void) {
  uint32_t count = 0;
  g_registry.idle = NULL;
  for (struct hak_context *x = g_registry.first; x != NULL; x = hak_registry_next(x)) {
    g_registry.last = x;
    count += hak_load_acquire(&x->in_use);
    if (hak_load_acquire(&x->in_use)) continue;
    x->idle = g_registry.idle;
    g_registry.idle = x;
  }
  hak_store(&g_registry.count, count);
}

static void take_registry_lock(void) {
  if (hak_lock_take(&g_registry.lock)) rebuild_registry();
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

struct hak_context *hak_registry_claim(void) {
  take_registry_lock();
  struct hak_context *x = idle_or_new_locked();
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
  hak_store(&g_registry.count, g_registry.count - 1);
  hak_lock_drop(&g_registry.lock);
}
