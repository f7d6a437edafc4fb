/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_internal.h: shared by the files of big blocks.
 *
 * what      The table of live blocks (big_table.c), the cache of free pieces (big_cache.c), the seams where kernel
 *           mappings meet in both (big_seams.c), the keep limit (big_watermark.c), and a single lock for all.
 *
 *               table: hash of address -> bytes          cache: [ address, bytes, free since ] by address
 *
 *           A block may be longer than asked: its slack counts as cached memory, goes when no cached piece is left that
 *           could go, and is usable only after a resize.
 * owner     g_big.
 * locks     g_big.lock; `_locked` in a name means that the caller holds the lock. After a takeover (os/lock.h) the
 *           counts are taken anew from the table; the cache is dropped and leaks.
 * orders    Under the lock. An entry's bytes are written before the address: a fork while another thread is inside
 *           leaves a valid table.
 * failure   A table slot is promised to every block being mapped or unmapped, and kept free for every cached piece, as
 *           the kernel may refuse to unmap the piece.
 *               entries + promised + pieces  <=  3/4 capacity      used + promised  <=  3/4 capacity
 * not here  The interface for other modules: big.h.
 */
#ifndef HAK_BLOCKS_BIG_INTERNAL_H
#define HAK_BLOCKS_BIG_INTERNAL_H

#include "base/time_budget.h"
#include "blocks/big.h"
#include "os/lock.h"
#include "os/os.h"
#include "retain/watermark.h"
#include "tables/learning.h"
#include "tables/settings.h"
#include "tables/site.h"

enum {
  HAK_BIG_PIECES = 128,
  HAK_BIG_SEAMS = 2048 /* the kernel allows a process 65,530 mappings by default */
};

/* How the pages of a live block are fetched. FRESH: all for this block; HUGE: with advice for huge pages. 0: some are
 * of freed blocks, or the block was sparse when it grew. */
enum { HAK_BIG_FRESH = 1, HAK_BIG_HUGE = 2, HAK_BIG_FETCH_SHIFT = 60 };

/* Read from outside, too: cli/hakmem/reading/tables.py. */
struct hak_big_slot {
  uintptr_t address; /* 0: never used; HAK_BIG_TOMB: used before */
  uint64_t facts;    /* bytes (a multiple of the page size), slack [4 KiB], fetch, and HAK_BIG_REFUSED */
  uint64_t origin;   /* site, time taken [ms], and keep time of the block */
};

#define HAK_BIG_TOMB ((uintptr_t)1)
#define HAK_BIG_REFUSED ((uint64_t)1 << 63) /* the kernel refused to unmap */
#define HAK_BIG_SLACK ((uint64_t)0xfff)     /* a page has 4 KiB or more: these bits of the bytes are 0 */
#define HAK_BIG_FETCH ((uint64_t)3 << HAK_BIG_FETCH_SHIFT)

/* Bytes of the mapping. */
static inline size_t hak_big_bytes_of(uint64_t facts) {
  return facts & ~(HAK_BIG_REFUSED | HAK_BIG_FETCH | HAK_BIG_SLACK);
}
static inline size_t hak_big_slack_of(uint64_t facts) { return (facts & HAK_BIG_SLACK) << 12; }
/* Usable bytes. */
static inline size_t hak_big_usable_of(uint64_t facts) { return hak_big_bytes_of(facts) - hak_big_slack_of(facts); }

enum { HAK_BIG_SITE_BITS = 16, HAK_BIG_KEEP_SHIFT = 59 };

/* Header and slots lie in the same mapping, so that a single store replaces both. */
struct hak_big_table {
  size_t capacity; /* number of slots, a power of two */
  uint64_t scales; /* bit k: blocks of scale k (see big_table.c) were entered */
  uint64_t latest; /* scale of the last entry, the likely scale of the next question */
  struct hak_big_slot slots[];
};

/* A stretch of memory: cached, or on the way into or out of the cache or the table. since_ms says when a cached piece
 * was freed, or when a live block was taken. */
struct hak_big_piece {
  char *address; /* NULL: no piece */
  size_t bytes;
  uint64_t since_ms;
  uint16_t site;  /* current owner, or the last owner of the piece's start */
  union {
    uint8_t keep; /* live block: its keep time (retain/rent.h) */
    bool plain;   /* cached piece: a program's advice for huge pages was withdrawn */
  };
  union {
    uint8_t fetch; /* live block: HAK_BIG_FRESH and so on */
    bool empty;    /* any other piece: mapped, but the kernel took the pages */
  };
  union {
    uint32_t slack; /* live block: bytes at the end, beyond the bytes asked for */
    uint32_t last;  /* cached piece: length of the block last freed at the piece's start [4 KiB]; 0: not known */
  };
};
static_assert(sizeof(struct hak_big_piece) == 32, "an index is a shift");

static inline size_t hak_big_usable(const struct hak_big_piece *block) { return block->bytes - block->slack; }

struct hak_big {
  struct hak_lock lock;
  struct hak_big_table *table;
  uint64_t made;   /* number of tables made so far */
  size_t used;     /* slots whose address is not 0 */
  size_t promised; /* slots for mappings that are neither entered nor cached */
  size_t refused;  /* entries with HAK_BIG_REFUSED */
  size_t pieces, empties; /* cached pieces: all, and without pages */
  uint64_t live_bytes, live_blocks;
  uint64_t kept_bytes;    /* of cached pieces with pages, and slack_bytes */
  uint64_t slack_bytes;   /* of live blocks */
  uint64_t empty_bytes;   /* of cached pieces without pages, and of refused entries */
  uint64_t claimed_bytes; /* about to be mapped */
  size_t seams;           /* recorded in big_seams.c */
  uint64_t told_bytes;    /* live, of blocks with a keep time other than 0 */
  uint32_t keeps;         /* bit k > 0: blocks of keep time k are or were live */
};
extern HAK_HIDDEN struct hak_big g_big;
/* The cache, in order of address; may hold one piece beyond the bound until the next eviction. */
extern HAK_HIDDEN struct hak_big_piece g_big_piece[HAK_BIG_PIECES + 1];

/* Per keep time. */
struct hak_big_cache {
  struct hak_watermark level; /* of blocks with this keep time */
  uint64_t live_bytes;    /* of these blocks; unused for keep time 0 */
};
extern HAK_HIDDEN struct hak_big_cache g_big_cache[HAK_KEEPS];

/* ---- the table ---- */

/* The live block that begins at the address, or that contains the address; NULL if none. */
struct hak_big_slot *hak_big_find_locked(uintptr_t address);
struct hak_big_slot *hak_big_find_around_locked(uintptr_t address);

/* has_room: true if n more entries or pieces fit; may replace the table to drop tombstones or to grow.
 * promise: promises a slot; false: no room. drop_promise: releases a promised slot. */
bool hak_big_has_room_locked(size_t n);
bool hak_big_promise_locked(void);
void hak_big_drop_promise_locked(void);

/* Enters a block, whose slot was promised, as live. */
void hak_big_enter_locked(const struct hak_big_piece *block);

/* Takes the live block of slot s out of the table and promises a slot. False: s is NULL, *block zero. */
bool hak_big_erase_locked(struct hak_big_slot *s, struct hak_big_piece *block);

/* refuse: enters a mapping that the kernel refused to unmap. take_refused: takes such a mapping out and promises a
 * slot; starts at slot *from and leaves *from behind the slot found; no piece if none is left. */
void hak_big_refuse_locked(struct hak_big_piece mapping);
struct hak_big_piece hak_big_take_refused_locked(size_t *from);

/* Takes the slack of a live block off its end, and promises a slot. No piece: no block has slack, or no room in the
 * table. */
struct hak_big_piece hak_big_take_slack_locked(void);

/* True if the address lies in a refused mapping. */
bool hak_big_is_refused_locked(uintptr_t address);

size_t hak_big_table_bytes_locked(void);
void hak_big_populate_table_locked(void);
void hak_big_table_extents_locked(struct hak_extents *list);

/* After a takeover of the lock: counts anew from the table, which is the truth. */
void hak_big_take_census(void);

/* ---- keep limit ---- */

/* Bytes of cached memory that may stay, as last noted. beside: the same if `more` bytes of this keep time were live,
 * without noting them. */
uint64_t hak_big_keep_limit_locked(void);
uint64_t hak_big_keep_limit_beside_locked(unsigned keep, uint64_t more);

/* Adds `bytes` to the live bytes; -bytes subtracts. */
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

/* Notes the live bytes of this keep time after a change. */
static inline void hak_big_note_locked(unsigned keep, uint64_t now) {
  hak_watermark_note(&g_big_cache[keep].level, hak_big_live_locked(keep), now);
  hak_store(&g_rent.now_ms, now);
}

/* note_all: notes that time has passed. set_rent: T of all keep times, as the price may have changed. */
void hak_big_note_all_locked(uint64_t now);
void hak_big_set_rent_locked(void);

/* ---- learning ---- */

HAK_INLINE bool hak_big_passes_locked(size_t bytes, uint64_t now) {
  struct hak_big_passing *g = &g_big_passing;
  if (bytes - 1 - g->above >= g->sizes || now - g->window_ms >= HAK_BUDGET_WINDOW_MS) return false;
  g->passed++;
  return true;
}

/* NULL in the modes off and baseline; without learn_keep, except in mode frozen, which does as a policy file says. */
HAK_INLINE const struct hak_learning *hak_big_learning(void) {
  uint64_t mode = hak_setting(mode);
  bool learns = mode > HAK_MODE_BASELINE && (mode == HAK_MODE_FROZEN || hak_setting(learn_keep) != 0);
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
  bool tells = HAK_UNLIKELY(learning != NULL) && !hak_big_passes_locked(hak_big_usable(block), now);
  if (tells) learning->big_freed(block->site, block->keep, hak_big_usable(block), now);
}

/* ---- advice ---- */

/* Withdraws a program's advice for huge pages from memory that passes to a new owner. Fresh memory gets the same
 * advice: otherwise each piece would be a kernel mapping of its own, whose pages do not move with others. */
static inline void hak_big_unadvise(char *p, size_t bytes) {
  if (hak_setting(huge_pages) != HAK_HUGE_ON) hak_os_unadvise_huge(p, bytes);
}

/* ---- huge pages ---- */

/* True if a block of `bytes` bytes that is about to be mapped is to be fetched in huge pages. */
bool hak_big_wants_huge(size_t bytes);

/* A block was mapped: advises huge pages for it, or withdraws the advice that the memory may have inherited. Returns
 * how the block is fetched. Lock: not held. */
uint8_t hak_big_fetch_fresh(const struct hak_big_piece *block, bool huge);

/* A block grew from block->bytes to `bytes` bytes, at p: advises huge pages for it, if the block is filled and they
 * pay. Returns how the block is fetched now. Lock: not held. */
uint8_t hak_big_grow_huge(const struct hak_big_piece *block, char *p, size_t bytes);

/* may_be_huge: memory may hold huge pages. split_ends: the piece is about to be unmapped or purged: splits huge pages
 * that reach beyond an end, as the kernel keeps a part that went as long as the rest. Lock: not held. */
bool hak_big_may_be_huge(void);
void hak_big_split_ends(const struct hak_big_piece *piece);

/* ---- the cache ---- */

/* Caches a promised piece and joins adjacent pieces. False: the cache is full, the piece is unchanged. */
bool hak_big_cache_add_locked(const struct hak_big_piece *piece);

/* Takes `bytes` at a multiple of align out of the best fitting piece, of equally long pieces the site's own, and
 * promises a slot. A remainder too short to be useful is taken, too, as slack. No piece: none fits. Withdraws a
 * program's advice for huge pages, unless the site takes the very block that it freed last there. */
struct hak_big_piece hak_big_cache_fit_locked(size_t bytes, size_t align, unsigned site);

/* Takes `bytes` from the start of the piece with pages that begins at `address`. No piece: too short, or none there.
 * Withdraws a program's advice for huge pages. */
struct hak_big_piece hak_big_cache_next_locked(const char *address, size_t bytes);

/* Takes at most `most` bytes from a single piece with pages: the shortest piece that is long enough, else the longest.
 * No piece: none has pages. */
struct hak_big_piece hak_big_cache_near_locked(size_t most);

/* Takes `bytes` from the end of the oldest piece with pages; the whole piece with `whole`, if shorter, or without room
 * for the remainder. No piece: none has pages. */
struct hak_big_piece hak_big_cache_oldest_locked(size_t bytes, bool whole);

/* Takes the first piece without pages at or above *from, and leaves *from at the piece's end. No piece: none left. */
struct hak_big_piece hak_big_cache_empty_locked(const char **from);

/* True if the address lies in a cached piece. */
bool hak_big_cache_has_locked(uintptr_t address);

void hak_big_cache_extents_locked(struct hak_extents *list);

/* ---- unmapping ---- */

/* Pieces on their way to the kernel or into a block, each with a promised slot. */
enum { HAK_BIG_BATCH = 4 }; /* pieces unmapped between two checks of the limits, or moved into a block */
struct hak_big_batch {
  size_t n;
  size_t moved; /* bytes of earlier pieces, already moved */
  struct hak_big_piece piece[HAK_BIG_BATCH];
};

/* Unmap promised pieces. If the kernel refuses to split a mapping, the pages are purged and the addresses recorded.
 * Return the bytes of pages released. Lock: not held. */
size_t hak_big_unmap_piece(struct hak_big_piece piece);
size_t hak_big_unmap_batch(const struct hak_big_batch *batch);

/* Evicts down to min(keep, keep limit) bytes and to `most_pieces` pieces. Returns the bytes released. Lock: not
 * held. */
size_t hak_big_evict(uint64_t keep, uint64_t most_pieces);

/* Drops the lock, then unmaps cached pieces beyond the keep limit and big_cache_blocks. */
void hak_big_settle_locked(void);

/* ---- seams ---- */

/* Bytes from `from` on, at most `most`, up to the next seam: a single kernel mapping. */
size_t hak_big_stretch_locked(const char *from, size_t most);

/* Records a seam: memory below and above `at` never is a single kernel mapping. At the bound nothing is recorded. */
void hak_big_add_seam_locked(const char *at);

/* Forgets the seams in memory that was unmapped or moved away, and now belongs to no block and no piece. */
void hak_big_drop_seams_locked(const char *from, size_t bytes);

#endif
