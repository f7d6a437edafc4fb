/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_sampled.c: sampled slabs, without a class in the class map.
 *
 * what      See slab_sampled.h. Slabs with a free slot form a list per class. An empty slab is closed.
 * owner     g_sampled.
 * locks     g_sampled.lock. After a takeover (os/lock.h) lists and sums are rebuilt from the bitmaps.
 */
#include "blocks/slab_sampled.h"

#include "blocks/slab_internal.h"
#include "runs/runs.h"

static HAK_RARE struct {
  struct hak_lock lock;
  uint32_t first[HAK_RUN_CLASS]; /* slabs with a free slot */
  uint64_t out_bytes, slab_bytes;
} g_sampled;

/* ---- lists ---- */

static void link_locked(struct hak_unit *s) {
  uint32_t *first = &g_sampled.first[s->size_class], u = hak_range_index(s);
  s->previous = HAK_NO_UNIT;
  s->next = *first;
  if (s->next != HAK_NO_UNIT) hak_range_entry(s->next)->previous = u;
  *first = u;
}

static void unlink_locked(struct hak_unit *s) {
  if (s->next != HAK_NO_UNIT) hak_range_entry(s->next)->previous = s->previous;
  if (s->previous != HAK_NO_UNIT) hak_range_entry(s->previous)->next = s->next;
  else g_sampled.first[s->size_class] = s->next;
}

static void add_sums_locked(int64_t out_bytes, int64_t slab_bytes) {
  hak_store(&g_sampled.out_bytes, g_sampled.out_bytes + (uint64_t)out_bytes);
  hak_store(&g_sampled.slab_bytes, g_sampled.slab_bytes + (uint64_t)slab_bytes);
}

static int64_t bytes_of_slab(const struct hak_class *class) { return (int64_t)(class->units << HAK_UNIT_SHIFT); }

/* ---- repair ---- */

/* True for a sampled slab. A slab of slab.c has a class in the class map whenever `words` is set. */
static bool is_apart(const struct hak_unit *s) {
  return hak_load_acquire(&s->kind) == HAK_UNIT_SLAB && hak_load_acquire(&s->words) != NULL &&
         hak_load(&g_range.map[hak_range_index(s)]) == 0;
}

static void count_anew(struct hak_unit *s) {
  const struct hak_class *class = &g_class[s->size_class];
  hak_slab_recount(s, class);
  if (s->free != 0) link_locked(s);
  add_sums_locked((int64_t)((class->slots - s->free) * class->bytes), bytes_of_slab(class));
}

static void rebuild_sampled(void) {
  for (unsigned c = 0; c < HAK_RUN_CLASS; c++) g_sampled.first[c] = HAK_NO_UNIT;
  g_sampled.out_bytes = g_sampled.slab_bytes = 0;
  for (size_t u = 1; (u = hak_range_pass(u)) < g_range.units; u++) {
    struct hak_unit *s = hak_range_entry((uint32_t)u);
    if (is_apart(s)) count_anew(s);
  }
}

static void lock_sampled(void) {
  if (hak_lock_take(&g_sampled.lock)) rebuild_sampled();
}

/* ---- take ---- */

static struct hak_unit *open_locked(unsigned c) {
  const struct hak_class *class = &g_class[c];
  bool clean = false;
  uint64_t *bitmap;
  struct hak_unit *s = hak_slab_set_up(c, &clean, NULL, &bitmap);
  if (s == NULL) return NULL;
  hak_range_set_class(hak_range_index(s), class->units, 0);
  hak_store_release(&s->words, bitmap);
  add_sums_locked(0, bytes_of_slab(class));
  link_locked(s);
  return s;
}

static void close_locked(struct hak_unit *s) {
  const struct hak_class *class = &g_class[s->size_class];
  uint64_t *bitmap = s->words;
  hak_store_release(&s->words, NULL);
  hak_slab_put_bitmap(s, bitmap, class);
  add_sums_locked(0, -bytes_of_slab(class));
  hak_runs_put(hak_range_index(s));
}

static void *take_slot_locked(struct hak_unit *s) {
  const struct hak_class *class = &g_class[s->size_class];
  unsigned w = hak_lowest_bit(s->summary), bit = hak_lowest_bit(s->words[w]);
  uint64_t rest = s->words[w] & (s->words[w] - 1);
  hak_store_release(&s->words[w], rest);
  if (rest == 0) s->summary &= s->summary - 1;
  hak_store(&s->free, (uint16_t)(s->free - 1));
  if (s->free == 0) unlink_locked(s);
  add_sums_locked(class->bytes, 0);
  return (char *)hak_range_address(hak_range_index(s)) + (size_t)(w * 64 + bit) * class->bytes;
}

void *hak_slab_sampled_take(unsigned c) {
  lock_sampled();
  struct hak_unit *s = g_sampled.first[c] != HAK_NO_UNIT ? hak_range_entry(g_sampled.first[c]) : open_locked(c);
  void *p = s != NULL ? take_slot_locked(s) : NULL;
  hak_lock_drop(&g_sampled.lock);
  return p;
}

/* ---- put ---- */

/* The sampled slab that p lies in; NULL if none. */
static struct hak_unit *slab_of(const void *p) {
  uint32_t run = hak_range_run_of(p);
  struct hak_unit *s = run != HAK_NO_UNIT ? hak_range_entry(run) : NULL;
  return s != NULL && is_apart(s) ? s : NULL;
}

static enum hak_error find_slot(const struct hak_unit *s, const void *p, size_t *slot) {
  const struct hak_class *class = &g_class[s->size_class];
  size_t offset = (size_t)((uintptr_t)p - (uintptr_t)hak_range_address(hak_range_index(s)));
  *slot = (size_t)(offset * class->reciprocal >> HAK_RECIPROCAL_SHIFT);
  if (*slot * class->bytes != offset || *slot >= class->slots) return HAK_ERROR_interior;
  return hak_load(&s->words[*slot / 64]) >> *slot % 64 & 1 ? HAK_ERROR_double_free : HAK_ERROR_none;
}

static enum hak_error put_slot_locked(struct hak_unit *s, const void *p) {
  const struct hak_class *class = &g_class[s->size_class];
  size_t slot;
  enum hak_error error = find_slot(s, p, &slot);
  if (error != HAK_ERROR_none) return error;
  hak_store(&s->words[slot / 64], s->words[slot / 64] | (uint64_t)1 << slot % 64);
  s->summary |= (uint64_t)1 << slot / 64;
  hak_store(&s->free, (uint16_t)(s->free + 1));
  add_sums_locked(-(int64_t)class->bytes, 0);
  if (s->free == 1) link_locked(s);
  if (s->free != class->slots) return HAK_ERROR_none;
  unlink_locked(s);
  close_locked(s);
  return HAK_ERROR_none;
}

enum hak_error hak_slab_sampled_put(void *p) {
  lock_sampled();
  struct hak_unit *s = slab_of(p);
  enum hak_error error = s != NULL ? put_slot_locked(s, p) : HAK_ERROR_released;
  hak_lock_drop(&g_sampled.lock);
  return error;
}

/* ---- questions ---- */

bool hak_slab_is_sampled(const void *p) { return slab_of(p) != NULL; }

size_t hak_slab_sampled_bytes(const void *p) {
  size_t slot;
  const struct hak_unit *s = slab_of(p);
  return s != NULL && find_slot(s, p, &slot) == HAK_ERROR_none ? g_class[s->size_class].bytes : 0;
}

bool hak_slab_sampled_use_of(const void *p, struct hak_slab_use *use) {
  lock_sampled();
  const struct hak_unit *s = slab_of(p);
  bool found = s != NULL && hak_slab_count_use_locked(s, p, use);
  hak_lock_drop(&g_sampled.lock);
  if (found) use->current = true;
  return found;
}

void hak_slab_sampled_sums(uint64_t *out_bytes, uint64_t *slab_bytes) {
  *out_bytes = hak_load(&g_sampled.out_bytes);
  *slab_bytes = hak_load(&g_sampled.slab_bytes);
}
