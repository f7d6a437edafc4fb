/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_internal.h: what slab.c and slab_purge.c share.
 *
 * what      A class's lists, and the steps that are taken with its lock held.
 * owner     g_slab (in slab.c).
 * locks     One per class.
 * not here  What other modules may call: slab.h.
 */
#ifndef HAK_BLOCKS_SLAB_INTERNAL_H
#define HAK_BLOCKS_SLAB_INTERNAL_H

#include "blocks/slab.h"
#include "blocks/slab_use.h"
#include "os/lock.h"
#include "os/os.h"
#include "retain/footprint.h"
#include "runs/runs.h"
#include "tables/classes.h"
#include "tables/meta.h"
#include "tables/range.h"

enum { HAK_SLAB_BINS = 13, HAK_SLAB_NO_BIN = 0xff };

struct hak_slab_class {
  struct hak_lock lock;
  uint32_t first[HAK_SLAB_BINS];
  uint32_t filled;  /* bit b: bin b is not empty */
  uint32_t empties; /* slabs on the lists whose slots are all free */
  uint64_t handed_out; /* blocks out of the bitmaps */
  uint64_t seen_out;   /* the same, when it was last asked by how much the class grew */
  uint64_t units;
} __attribute__((aligned(128)));

/* Each a piece of metadata, made when its class is first filled from: those of a small process share a page. */
extern HAK_HIDDEN struct hak_slab_class *g_slab[HAK_CLASSES];

/* NULL: there was no slab of it. */
static inline struct hak_slab_class *hak_slab_of(unsigned c) { return hak_load_acquire(&g_slab[c]); }

void hak_slab_lock(struct hak_slab_class *k, unsigned c);

/* Slots that were free are out now, as after a fill: the slab moves to another list, or to none. */
void hak_slab_hide_slots_locked(struct hak_slab_class *k, struct hak_unit *s, uint32_t n);

/* And they are back: it moves again, or is closed when it is one empty slab too many. */
void hak_slab_unhide_slots_locked(struct hak_slab_class *k, struct hak_unit *s, uint32_t n);

/* All pages of such a slab, as `empty` has them. */
uint64_t hak_slab_all_pages(const struct hak_class *class);

/* These pages of the slab are empty from now on, which they were not; and the other way round. */
static inline void hak_slab_empty_pages(struct hak_unit *s, uint64_t pages) {
  s->empty |= pages;
  hak_add(&g_footprint.empty, (uint64_t)__builtin_popcountll(pages) * hak_os_page_bytes());
}
static inline void hak_slab_use_pages(struct hak_unit *s, uint64_t pages) {
  s->empty &= ~pages;
  hak_sub(&g_footprint.empty, (uint64_t)__builtin_popcountll(pages) * hak_os_page_bytes());
}

/* Blocks were taken from a slab with empty pages: those they lie on are empty no more. out[0..n) as from a fill. */
void hak_slab_touch(struct hak_unit *s, void *const *out, size_t n);

/* What slab_use.h says of the slab s, that p lies in. */
bool hak_slab_count_use_locked(const struct hak_unit *s, const void *p, struct hak_slab_use *use);

/* Is it a slab of class c, and open? One that lies apart has no number in the class map. */
static inline bool hak_slab_is_of(const struct hak_unit *s, unsigned c) {
  bool slab = hak_load_acquire(&s->kind) == HAK_UNIT_SLAB; /* of another class by now, perhaps */
  return slab && hak_load(&s->size_class) == c && hak_load(&s->words) != NULL &&
         hak_load(&g_range.map[hak_range_index(s)]) == c;
}

/* ---- a slab's bitmap ---- */

static inline size_t hak_slab_bitmap_bytes(const struct hak_class *class) { return (class->slots + 63) / 64 * 8; }

static inline uint64_t *hak_slab_get_bitmap(struct hak_unit *s, const struct hak_class *class) {
  return class->slots <= 64 ? &s->word : hak_meta_get(hak_slab_bitmap_bytes(class));
}

static inline void hak_slab_put_bitmap(struct hak_unit *s, uint64_t *bitmap, const struct hak_class *class) {
  if (bitmap != &s->word) hak_meta_put(bitmap, hak_slab_bitmap_bytes(class));
}

static inline void hak_slab_set_all_free(struct hak_unit *s, uint64_t *bitmap, const struct hak_class *class) {
  size_t words = (class->slots + 63) / 64, odd = class->slots % 64;
  for (size_t w = 0; w < words; w++) bitmap[w] = ~(uint64_t)0;
  if (odd != 0) bitmap[words - 1] = ((uint64_t)1 << odd) - 1;
  s->summary = words == 64 ? ~(uint64_t)0 : ((uint64_t)1 << words) - 1;
  hak_store(&s->free, (uint16_t)class->slots);
}

/* A run of this class with a bitmap, all of it free, and on no list; *bitmap makes a slab of it once it is stored.
 * clean: as of hak_runs_get. NULL: no memory. */
HAK_INLINE struct hak_unit *hak_slab_set_up(unsigned c, bool *clean, uint64_t **bitmap) {
  const struct hak_class *class = &g_class[c];
  uint32_t u = hak_runs_get(class->units, 1, HAK_UNIT_SLAB, c, clean);
  if (u == HAK_NO_UNIT) return NULL;
  struct hak_unit *s = hak_range_entry(u);
  *bitmap = hak_slab_get_bitmap(s, class);
  if (*bitmap == NULL) {
    hak_runs_put(u);
    return NULL;
  }
  hak_slab_set_all_free(s, *bitmap, class);
  s->bin = HAK_SLAB_NO_BIN;
  s->owned = 0;
  s->empty = 0;
  return s;
}

/* What the bitmap says is free. */
static inline void hak_slab_recount(struct hak_unit *s, const struct hak_class *class) {
  s->summary = 0;
  hak_store(&s->free, 0);
  for (size_t w = 0; w < (class->slots + 63) / 64; w++) {
    hak_store(&s->free, (uint16_t)(s->free + __builtin_popcountll(s->words[w])));
    s->summary |= (uint64_t)(s->words[w] != 0) << w;
  }
}

#endif
