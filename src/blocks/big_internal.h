/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_internal.h: what the files of the big box share.
 *
 * what      The table of live blocks (big_table.c), the cache of free pieces (big_cache.c), where the kernel's mappings
 *           meet in both (big_seams.c), how much may stay (big_watermark.c), and one lock for all.
 *
 *               table: hash of address -> bytes          cache: [ address, bytes, free since ] by address
 * owner     g_big.
 * locks     g_big.lock; `locked` in a name says that the caller holds it. A vanished holder: the counts are taken anew
 *           from the table; the cache is dropped (it leaks).
 * orders    Under the lock. A table entry's bytes are written before its address, so a cut leaves it valid.
 * failure   Slots of the table are promised: to a block that is being mapped or unmapped, and to every piece, as the
 *           kernel may refuse to take it back.
 *               entries + promised + pieces  <=  3/4 capacity      used + promised  <=  3/4 capacity
 * not here  What others may call: big.h.
 */
#ifndef HAK_BLOCKS_BIG_INTERNAL_H
#define HAK_BLOCKS_BIG_INTERNAL_H

#include "base/time_budget.h"
#include "blocks/big.h"
#include "os/lock.h"
#include "retain/watermark.h"
#include "tables/learning.h"
#include "tables/settings.h"
#include "tables/site.h"

enum {
  HAK_BIG_PIECES = 128,
  HAK_BIG_SEAMS = 2048 /* of the kernel's mappings, by default 65,530 for a process */
};

struct hak_big_slot {
  uintptr_t address; /* 0: never used; HAK_BIG_TOMB: used once */
  uint64_t facts;    /* bytes (a multiple of the page), and whether the kernel would not take the mapping back */
  uint64_t origin;   /* site, when it was taken, and its keep time */
};

#define HAK_BIG_TOMB ((uintptr_t)1)
#define HAK_BIG_REFUSED ((uint64_t)1 << 63)

static inline size_t hak_big_bytes_of(uint64_t facts) { return facts & ~HAK_BIG_REFUSED; }

enum { HAK_BIG_SITE_BITS = 16, HAK_BIG_KEEP_SHIFT = 59 };

/* One mapping, so that one store replaces all of it. */
struct hak_big_table {
  size_t capacity; /* of slots, a power of two */
  uint64_t scales; /* bit k: blocks of scale k were entered */
  uint64_t latest; /* the scale entered last, which is likely to be asked for next */
  struct hak_big_slot slots[];
};

/* A stretch of memory that is free, or on its way. Of a live block `since_ms` says when it was taken. */
struct hak_big_piece {
  char *address; /* NULL: none */
  size_t bytes;
  uint64_t since_ms;
  uint16_t site;  /* that has it, or had it last */
  uint8_t keep;   /* and for how long it stays when it is free: of a live block */
  bool empty;     /* the kernel took the pages, but not the addresses */
};

struct hak_big {
  struct hak_lock lock;
  struct hak_big_table *table;
  uint64_t made;   /* how often the table was made anew */
  size_t used;     /* slots whose address is not 0 */
  size_t promised; /* slots for mappings that are neither entered nor pieces of the cache */
  size_t refused;  /* entries so marked */
  size_t pieces, empties; /* in the cache, and those of them that are empty */
  uint64_t live_bytes, live_blocks;
  uint64_t kept_bytes;    /* of pieces that hold pages */
  uint64_t empty_bytes;   /* of those that hold none, and of refused entries */
  uint64_t claimed_bytes; /* about to be mapped */
  size_t seams;           /* that are known */
  uint64_t told_bytes;    /* live, of sites that were told a keep time */
  uint32_t keeps;         /* bit k: blocks of keep time k were live; not of 0 */
};
extern HAK_HIDDEN struct hak_big g_big;
/* The cache, by address; one more than the bound. */
extern HAK_HIDDEN struct hak_big_piece g_big_piece[HAK_BIG_PIECES + 1];

/* By keep time. */
struct hak_big_cache {
  struct hak_watermark level; /* of the blocks that have it */
  uint64_t live_bytes;    /* of these; not of 0 */
};
extern HAK_HIDDEN struct hak_big_cache g_big_cache[HAK_KEEPS];

/* ---- the table ---- */

/* The live block that begins at this address, or that contains it; NULL. */
struct hak_big_slot *hak_big_find_locked(uintptr_t address);
struct hak_big_slot *hak_big_find_around_locked(uintptr_t address);

/* Is there room for n more entries or pieces, after sweeping and growing the table if need be? */
bool hak_big_has_room_locked(size_t n);
bool hak_big_promise_locked(void);
void hak_big_drop_promise_locked(void);

/* Enters a promised mapping as a live block. */
void hak_big_enter_locked(const struct hak_big_piece *block);

/* Takes the live block out of the slot, which is promised. False: the slot is NULL, and *block is nothing. */
bool hak_big_erase_locked(struct hak_big_slot *s, struct hak_big_piece *block);

/* Enters a mapping that the kernel will not take back; and takes one of them out, promised, from slot *from on, which
 * is behind it then; nothing: there is none. */
void hak_big_refuse_locked(struct hak_big_piece mapping);
struct hak_big_piece hak_big_take_refused_locked(size_t *from);

/* Does the address lie in a mapping that was refused? */
bool hak_big_is_refused_locked(uintptr_t address);

size_t hak_big_table_bytes_locked(void);
void hak_big_populate_table_locked(void);
void hak_big_table_extents_locked(struct hak_extents *list);

/* After a cut: the table is the truth. */
void hak_big_take_census(void);

/* ---- how much may stay ---- */

/* Bytes of free memory that may stay, as last noted; and if so many bytes more of this keep time were live, which they
 * may not come to be. */
uint64_t hak_big_keep_limit_locked(void);
uint64_t hak_big_keep_limit_beside_locked(unsigned keep, uint64_t more);

/* So many bytes more are live; or fewer. */
static inline void hak_big_add_live_locked(unsigned keep, uint64_t bytes) {
  g_big.live_bytes += bytes;
  if (HAK_LIKELY(keep == 0)) return;
  g_big_cache[keep].live_bytes += bytes;
  g_big.told_bytes += bytes;
  g_big.keeps |= 1u << keep;
}

static inline uint64_t hak_big_live_locked(unsigned keep) {
  return HAK_LIKELY(keep == 0) ? g_big.live_bytes - g_big.told_bytes : g_big_cache[keep].live_bytes;
}

/* After the live bytes of this keep time changed. */
static inline void hak_big_note_locked(unsigned keep, uint64_t now) {
  hak_watermark_note(&g_big_cache[keep].level, hak_big_live_locked(keep), now);
  hak_store(&g_rent.now_ms, now);
}

/* Time has passed. The price may be another one. */
void hak_big_note_all_locked(uint64_t now);
void hak_big_set_rent_locked(void);

/* ---- what is learnt ---- */

HAK_INLINE bool hak_big_passes_locked(size_t bytes, uint64_t now) {
  struct hak_big_passing *g = &g_big_passing;
  if (bytes - 1 - g->above >= g->sizes || now - g->window_ms >= HAK_BUDGET_WINDOW_MS) return false;
  g->passed++;
  return true;
}

/* NULL in the modes off and baseline. */
HAK_INLINE const struct hak_learning *hak_big_learning(void) {
  bool learns = hak_setting(mode) > HAK_MODE_BASELINE && hak_setting(learn_keep) != 0;
  return HAK_UNLIKELY(learns) ? hak_load_acquire(&g_learning) : NULL;
}
static_assert(HAK_MODE_OFF < HAK_MODE_BASELINE && HAK_MODE_BASELINE < HAK_MODE_SHADOW, "hak_big_learning");

/* The keep time of a block that this site takes. */
HAK_INLINE unsigned hak_big_keep_locked(unsigned site, size_t bytes, uint64_t now) {
  const struct hak_learning *learning = hak_big_learning();
  bool tells = HAK_UNLIKELY(learning != NULL) && !hak_big_passes_locked(bytes, now);
  return tells ? learning->big_taken(site, bytes, now) : hak_load(&g_site[site].keep);
}
HAK_INLINE void hak_big_learn_freed_locked(const struct hak_big_piece *block, uint64_t now) {
  const struct hak_learning *learning = hak_big_learning();
  bool tells = HAK_UNLIKELY(learning != NULL) && !hak_big_passes_locked(block->bytes, now);
  if (tells) learning->big_freed(block->site, block->keep, block->bytes, now);
}

/* ---- the cache ---- */

/* Adds a promised piece, joined with its neighbours. False: the cache is full, and the piece as it was. */
bool hak_big_cache_add_locked(const struct hak_big_piece *piece);

/* Takes `bytes` at a multiple of align, promised, out of the piece that fits best, of equals the site's own: a little
 * more where the rest would be good for nothing. Nothing when none fits. */
struct hak_big_piece hak_big_cache_fit_locked(size_t bytes, size_t align, unsigned site);

/* Takes the beginning of the piece that begins at `address`; nothing when it is shorter or there is none. */
struct hak_big_piece hak_big_cache_next_locked(const char *address, size_t bytes);

/* Takes at most `most` bytes with pages, of one piece, as near to that as may be; nothing: there is none. */
struct hak_big_piece hak_big_cache_near_locked(size_t most);

/* Takes about `bytes` of the oldest piece with pages, all of it when `whole`; nothing: there is none. */
struct hak_big_piece hak_big_cache_oldest_locked(size_t bytes, bool whole);

/* Takes the first empty piece that does not lie below *from, which is its end then; nothing: there is none. */
struct hak_big_piece hak_big_cache_empty_locked(const char **from);

/* Does the address lie in a piece? */
bool hak_big_cache_has_locked(uintptr_t address);

void hak_big_cache_extents_locked(struct hak_extents *list);

/* ---- seams ---- */

/* How many bytes from here on, of `most`, are one of the kernel's mappings. */
size_t hak_big_stretch_locked(const char *from, size_t most);

/* Two mappings meet here from now on, if there is memory on both sides. Nothing happens beyond the bound. */
void hak_big_add_seam_locked(const char *at);

/* This memory, of no block and no piece any more, has gone. */
void hak_big_drop_seams_locked(const char *from, size_t bytes);

#endif
