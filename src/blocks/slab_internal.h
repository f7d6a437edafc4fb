/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_internal.h: shared by slab.c, slab_purge.c, slab_sampled.c and slab_use.c.
 *
 * what      A class's lists, and the steps under the class lock.
 * owner     g_slab (in slab.c).
 * locks     A lock per class.
 * not here  The interface for other modules: slab.h.
 */
#ifndef HAK_BLOCKS_SLAB_INTERNAL_H
#define HAK_BLOCKS_SLAB_INTERNAL_H

#include <assert.h>

#include "blocks/slab.h"
#include "blocks/slab_use.h"
#include "blocks/slab_written.h"
#include "os/lock.h"
#include "os/os.h"
#include "retain/footprint.h"
#include "runs/runs.h"
#include "tables/classes.h"
#include "tables/meta.h"
#include "tables/range.h"
#include "tables/state.h"

enum { HAK_SLAB_BINS = 13, HAK_SLAB_NO_BIN = 0xff };

struct hak_slab_class {
  struct hak_lock lock;
  uint32_t first[HAK_SLAB_BINS];
  uint32_t filled;  /* bit b: bin b is not empty */
  uint32_t empties; /* listed slabs whose slots are all free */
  uint8_t opens;   /* slabs opened, modulo 2^8; it, the next three and the sample: only of blocks of more than a page */
  bool grew;       /* since the sample was last looked at a slab was opened in memory without pages */
  bool is_new;     /* the whole sample: the next fill looks, when the blocks of this one are the program's */
  bool is_written; /* hak_slab_is_written of the sample, when it was last looked at */
  uint64_t handed_out; /* blocks */
  uint64_t seen_out;   /* handed_out at the last call of hak_slab_handed_out_grown */
  uint64_t units;
  uint32_t sample[HAK_SLAB_SAMPLES]; /* of each four slabs that were opened one; may be gone by now */
} __attribute__((aligned(128)));

static_assert(sizeof(struct hak_slab_class) == 128, "a record of a class is one pair of cache lines");

/* A piece of metadata per class, made at the first fill: the records of a small process share a page. */
extern HAK_HIDDEN struct hak_slab_class *g_slab[HAK_CLASSES];

/* NULL: the class never had a slab. */
static inline struct hak_slab_class *hak_slab_of(unsigned c) { return hak_load_acquire(&g_slab[c]); }

void hak_slab_lock(struct hak_slab_class *k, unsigned c);

/* Counts n free slots, taken out of the bitmap by the caller, as handed out: moves the slab to the list of the new
 * count, or to none. */
void hak_slab_hide_slots_locked(struct hak_slab_class *k, struct hak_unit *s, uint32_t n);

/* Counts n slots, back in the bitmap, as free: moves the slab to the list of the new count, or closes an empty slab if
 * the class keeps enough. */
void hak_slab_unhide_slots_locked(struct hak_slab_class *k, struct hak_unit *s, uint32_t n);

/* All pages of a slab of this class, as bits of hak_unit.empty. */
uint64_t hak_slab_all_pages(const struct hak_class *class);

/* Marks pages of the slab as empty (so far not marked), or as no longer empty (so far marked). */
static inline void hak_slab_empty_pages(struct hak_unit *s, uint64_t pages) {
  s->empty |= pages;
  hak_add(&g_footprint.empty, (uint64_t)__builtin_popcountll(pages) * hak_os_page_bytes());
}
static inline void hak_slab_use_pages(struct hak_unit *s, uint64_t pages) {
  s->empty &= ~pages;
  hak_sub(&g_footprint.empty, (uint64_t)__builtin_popcountll(pages) * hak_os_page_bytes());
}

/* Blocks out[0..n), as from a fill, were taken from a slab with empty pages: unmarks the pages under these blocks. */
void hak_slab_touch(struct hak_unit *s, void *const *out, size_t n);

/* Fills *use (slab_use.h) for the slab s and the page that p lies on. False: p lies in no handed-out block. */
bool hak_slab_count_use_locked(const struct hak_unit *s, const void *p, struct hak_slab_use *use);

/* True if s is an open slab of class c. False for a sampled slab, as the class map has no class for sampled slabs. */
static inline bool hak_slab_is_of(const struct hak_unit *s, unsigned c) {
  bool slab = hak_load_acquire(&s->kind) == HAK_UNIT_SLAB; /* may belong to a different class by now */
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

/* Takes a run for class c with a bitmap, all slots free, on no list. The run is a slab from the store of *bitmap in
 * hak_unit.words on. *clean and *opened as in hak_runs_get. NULL: no memory. */
HAK_INLINE struct hak_unit *hak_slab_set_up(unsigned c, bool *clean, struct hak_opened *opened, uint64_t **bitmap) {
  const struct hak_class *class = &g_class[c];
  uint32_t u = hak_runs_get(class->units, 1, HAK_UNIT_SLAB, c, clean, opened);
  if (u == HAK_NO_UNIT) return NULL;
  struct hak_unit *s = hak_range_entry(u);
  *bitmap = hak_slab_get_bitmap(s, class);
  if (*bitmap == NULL) {
    if (opened != NULL && opened->units != 0) hak_runs_close_opened(opened);
    hak_runs_put(u);
    return NULL;
  }
  hak_slab_set_all_free(s, *bitmap, class);
  s->bin = HAK_SLAB_NO_BIN;
  s->owned = 0;
  s->empty = 0;
  if (HAK_SECURE) hak_state_open(u, class->units);
  return s;
}

/* Counts the free slots anew from the bitmap. */
static inline void hak_slab_recount(struct hak_unit *s, const struct hak_class *class) {
  s->summary = 0;
  hak_store(&s->free, 0);
  for (size_t w = 0; w < (class->slots + 63) / 64; w++) {
    hak_store(&s->free, (uint16_t)(s->free + __builtin_popcountll(s->words[w])));
    s->summary |= (uint64_t)(s->words[w] != 0) << w;
  }
}

#endif
