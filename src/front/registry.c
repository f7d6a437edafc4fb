/* registry.c: the contexts of all threads.
 *
 * what      See registry.h.
 * owner     g_registry.
 * locks     g_registry.lock. A vanished holder: nothing to rebuild, a context is claimed by one store.
 * orders    See registry.h.
 * hot path  No.
 * failure   NULL.
 * not here  What is in a context.
 */
#include "front/registry.h"

#include "core/meta.h"
#include "os/fork.h"
#include "os/lock.h"

static struct {
  struct hak_lock lock;
  struct hak_context *first;
  uint32_t count; /* contexts in use */
  uint32_t made;
} g_registry;

struct hak_context *hak_registry_first(void) { return hak_load_acquire(&g_registry.first); }
uint32_t hak_registry_count(void) { return hak_load(&g_registry.count); }

static struct hak_context *make_context_locked(void) {
  struct hak_context *x = hak_meta_get(sizeof *x);
  if (x == NULL) return NULL;
  *x = (struct hak_context){.next = g_registry.first};
  hak_class_table(x->small_class, g_registry.made++ % HAK_COLORS);
  hak_store_release(&g_registry.first, x);
  return x;
}

struct hak_context *hak_registry_claim(void) {
  hak_lock_take(&g_registry.lock);
  struct hak_context *x = g_registry.first;
  while (x != NULL && hak_load_acquire(&x->in_use)) x = x->next;
  if (x == NULL) x = make_context_locked();
  if (x != NULL) {
    x->token = hak_self_token();
    x->generation = hak_load(&g_fork.generation);
    hak_add(&g_registry.count, 1);
    hak_store_release(&x->in_use, true);
  }
  hak_lock_drop(&g_registry.lock);
  return x;
}

void hak_registry_retire(struct hak_context *x) {
  hak_store_release(&x->in_use, false);
  hak_sub(&g_registry.count, 1); /* last, and added first: a cut must not count a thread out twice */
}
