/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* site.h: call sites, with counts and lifetimes of their blocks.
 *
 * what      A site is an address in the program that asks for blocks: the return address of a call of malloc. Each
 *           site has a record of counts. A site that serves many purposes (a wrapper: many sizes, or a large share of
 *           all blocks) is widened: a further record for each depth of the stack at the call, up to a bound.
 *
 *               address, depth --hash--> index --> g_site: [ malloc+0 ][ wrapper ][ wrapper, depth 12 ] ...
 *
 *           The table is bounded. A full table evicts an eighth of the sites: sites without live blocks, least
 *           recently used first (by a clock's hand: Corbato, 1968). While all sites have live blocks, the table is
 *           searched once per 768 calls only, so that no block pays for a search of its own.
 * owner     g_site. A live block holds its site's number and counts there at its free, so a site with live blocks is
 *           never evicted, nor is a site with a keep time from hak_site_set_keep.
 * locks     g_sites.lock, to add, to evict and to set a keep time; no further lock is taken while the lock is held.
 * orders    Numbers are found without a lock: a record is complete before its number is released into the index. Counts
 *           are relaxed. A thread that found a number just before its eviction counts once for the wrong site.
 * failure   No room, or no memory for the table: site 0, which stands for no site, and a count.
 * not here  When a block comes and goes: blocks/big.c, blocks/large.c. Names and keep times by the program: src/api.
 */
#ifndef HAK_TABLES_SITE_H
#define HAK_TABLES_SITE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/lock.h"
#include "tables/extents.h"

/* HAK_SITE_REST: the record of sampled blocks whose sites have no room; it has no address, and is never found. */
enum { HAK_SITES = 6144, HAK_SITE_REST = HAK_SITES, HAK_SITE_DEPTHS = 254 };
static_assert(HAK_SITE_DEPTHS < UINT8_MAX, "hak_site.wide");

/* Blocks are counted with their usable bytes, not with the requested bytes. Live: count - freed blocks, bytes -
 * freed_bytes bytes. */
struct hak_site {
  uint64_t address; /* 0: no site */
  uint32_t depth;   /* stack depth of the call [16 bytes]; 0: all depths without a record of their own */
  uint8_t wide;     /* 0: not widened; else 1 + number of depths with a record, up to 1 + HAK_SITE_DEPTHS */
  bool used, grows; /* used: since the clock's hand last passed; grows: some block was made longer */
  uint8_t keep;     /* keep time of free memory (retain/rent.h); 0: by the price */
  uint64_t count, bytes;       /* taken */
  uint64_t freed, freed_bytes; /* freed */
  uint64_t life_ms;            /* sum over all freed blocks */
  uint64_t gaps, gap_ms;       /* reuses of freed blocks: number, and sum of the times between free and reuse */
  uint64_t hits, fetched;      /* blocks served from free memory; pages that the kernel gave for all further blocks */
  uint64_t scales;             /* bit k: a block of 2^k to 2^(k+1) - 1 bytes was taken */
};
static_assert(sizeof(struct hak_site) <= 128, "HAK_SITES of them are less than a MiB");

/* Records by number. Until the first site is added, a single record, and the table is not mapped: a garbage collector
 * scans a library's zero data, and collects later if that data is large. */
extern HAK_HIDDEN struct hak_site *g_site_table;
#define g_site hak_load_acquire(&g_site_table)

/* For hak_holds_all (hold.h): maps the table unless mapped, and populates its pages. */
void hak_site_reserve(void);

/* Mapped bytes of the table, and where the table lies. */
size_t hak_site_table_bytes(void);
void hak_site_extents(struct hak_extents *list);

/* The number of the site with this return address; `frame`: the stack frame of the call. 0: no room. */
unsigned hak_site_of(const void *address, const void *frame);

/* The same of a sampled block, whose free has to find its sample: HAK_SITE_REST if there is no room, and 0 only without
 * memory for the table. */
unsigned hak_site_of_sampled(const void *address, const void *frame);

/* True if most blocks of the site so far are still live and no block grew. */
bool hak_site_lasts(unsigned site);

/* True if the site's runs are taken from the high end of a free run, apart from short-lived runs: the site's blocks
 * last, and learning has not turned placement off. */
bool hak_site_is_apart(unsigned site);

/* Sets the keep time of free memory left by this site, at all depths. False: no room in the table. */
bool hak_site_set_keep(const void *address, unsigned keep);

/* Last record in use + 1. */
unsigned hak_site_end(void);

static inline void hak_site_add(uint64_t *cell, uint64_t n) {
  if (hak_is_single_threaded()) hak_store(cell, hak_load(cell) + n);
  else hak_add(cell, n);
}

HAK_INLINE void hak_site_taken(unsigned site, size_t bytes) {
  struct hak_site *s = &g_site[site];
  uint64_t scale = (uint64_t)1 << hak_highest_bit(bytes), scales = hak_load(&s->scales);
  hak_site_add(&s->count, 1);
  hak_site_add(&s->bytes, bytes);
  if (HAK_UNLIKELY(!(scales & scale))) hak_store(&s->scales, scales | scale);
}

HAK_INLINE void hak_site_freed(unsigned site, size_t bytes, uint64_t life_ms) {
  struct hak_site *s = &g_site[site];
  hak_site_add(&s->freed, 1);
  hak_site_add(&s->freed_bytes, bytes);
  if (life_ms != 0) hak_site_add(&s->life_ms, life_ms);
}

static inline void hak_site_resized(unsigned site, size_t from, size_t to) {
  hak_site_add(&g_site[site].bytes, to - from);
  if (to > from && !hak_load(&g_site[site].grows)) hak_store(&g_site[site].grows, true);
}

static inline void hak_site_served(unsigned site) { hak_site_add(&g_site[site].hits, 1); }

/* Counts a block of `site` that reuses memory freed by `before`, gap_ms after the free. */
HAK_INLINE void hak_site_hit(unsigned site, unsigned before, uint64_t gap_ms) {
  hak_site_served(site);
  hak_site_add(&g_site[before].gaps, 1);
  if (gap_ms != 0) hak_site_add(&g_site[before].gap_ms, gap_ms);
}

static inline void hak_site_fetched(unsigned site, uint64_t pages) { hak_site_add(&g_site[site].fetched, pages); }

#endif
