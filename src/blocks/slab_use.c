/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_use.c: how full slabs are.
 *
 * what      See slab_use.h.
 * owner     g_use.
 * locks     g_use.lock. After a takeover (os/lock.h) the next call walks anew.
 */
#include "blocks/slab_use.h"

#include "blocks/slab_internal.h"

/* A walk is repeated after 20 ms, or after 64 times its own duration if that is longer: a 64th of the time at most. */
enum { AGE_NS = 20000000, PAUSES = 64 };

static HAK_RARE struct {
  struct hak_lock lock;
  uint64_t next_ns; /* when the next walk is due */
  struct hak_slab_class_use class[HAK_RUN_CLASS];
} g_use;

/* ---- one slab ---- */

static bool is_out(const struct hak_unit *s, size_t slot) { return !(s->words[slot / 64] >> slot % 64 & 1); }

/* Bytes of handed-out blocks on the page at offset `from` of the slab. */
static size_t count_page(const struct hak_unit *s, const struct hak_class *class, size_t from) {
  size_t to = from + hak_os_page_bytes(), sum = 0;
  size_t slot = (size_t)(from * class->reciprocal >> HAK_RECIPROCAL_SHIFT);
  for (size_t start = slot * class->bytes; slot < class->slots && start < to; slot++, start += class->bytes) {
    if (is_out(s, slot)) sum += hak_min(start + class->bytes, to) - hak_max(start, from);
  }
  return sum;
}

bool hak_slab_count_use_locked(const struct hak_unit *s, const void *p, struct hak_slab_use *use) {
  const struct hak_class *class = &g_class[s->size_class];
  size_t offset = (size_t)((uintptr_t)p - (uintptr_t)hak_range_address(hak_range_index(s)));
  size_t slot = (size_t)(offset * class->reciprocal >> HAK_RECIPROCAL_SHIFT);
  if (slot >= class->slots || !is_out(s, slot)) return false;
  *use = (struct hak_slab_use){.block_bytes = class->bytes,
                               .bytes = (size_t)class->units << HAK_UNIT_SHIFT,
                               .slots = class->slots,
                               .out = class->slots - s->free,
                               .page_out = count_page(s, class, offset & ~(hak_os_page_bytes() - 1)),
                               .current = s->owned};
  return true;
}

static bool use_locked(unsigned c, const void *p, struct hak_slab_use *use) {
  size_t u = hak_range_unit_of(p);
  if (hak_load(&g_range.map[u]) != c) return false; /* the slab was closed meanwhile */
  return hak_slab_count_use_locked(hak_range_entry(hak_range_entry((uint32_t)u)->head), p, use);
}

bool hak_slab_use_of(const void *p, struct hak_slab_use *use) {
  unsigned c = hak_range_class(p);
  if (!hak_is_slab_class(c)) return false;
  struct hak_slab_class *k = hak_slab_of(c);
  hak_slab_lock(k, c);
  bool found = use_locked(c, p, use);
  hak_lock_drop(&k->lock);
  return found;
}

/* ---- all slabs ---- */

static void count_slab(const struct hak_unit *s, struct hak_slab_class_use *class) {
  unsigned c = hak_load(&s->size_class);
  if (!hak_is_slab_class(c) || !hak_slab_is_of(s, c)) return;
  uint32_t free = hak_load(&s->free), slots = g_class[c].slots;
  if (free == 0 || free >= slots) return;
  class[c].slabs++;
  class[c].out += slots - free;
}

static void walk_locked(void) {
  for (unsigned c = 0; c < HAK_RUN_CLASS; c++) g_use.class[c] = (struct hak_slab_class_use){0, 0};
  size_t units = hak_load_acquire(&g_range.units);
  for (size_t u = 1; (u = hak_range_pass(u)) < units; u++) {
    const struct hak_unit *s = hak_range_entry((uint32_t)u);
    if (hak_load_acquire(&s->kind) == HAK_UNIT_SLAB) count_slab(s, g_use.class);
  }
}

static void walk_if_due_locked(void) {
  uint64_t begin = hak_os_now_ns();
  if (begin < g_use.next_ns) return;
  walk_locked();
  uint64_t end = hak_os_now_ns();
  g_use.next_ns = end + hak_max(AGE_NS, (end - begin) * PAUSES);
}

struct hak_slab_class_use hak_slab_use_of_class(unsigned c) {
  if (hak_lock_take(&g_use.lock)) g_use.next_ns = 0;
  walk_if_due_locked();
  struct hak_slab_class_use use = g_use.class[c];
  hak_lock_drop(&g_use.lock);
  return use;
}
