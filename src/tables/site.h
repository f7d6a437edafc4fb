/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* site.h: who asks for memory, and what becomes of it.
 *
 * what      A site is an address in the program that asks for blocks: what a call of malloc returns to. Each has a
 *           record of counts. One that serves many purposes (a wrapper: it asks for many sizes, or for a large share of
 *           all blocks) is widened: a record of its own for each depth of the stack at which it asks, up to a bound.
 *
 *               address, depth --hash--> index --> g_site: [ malloc+0 ][ wrapper ][ wrapper, depth 12 ] ...
 *
 *           The table is bounded; when it is full an eighth of the sites goes that have no live block and were not used
 *           for the longest time (by a clock's hand: Corbato, 1968). While all have some it is searched now and then
 *           only, so that nobody pays for it block by block.
 * owner     g_site. A live block knows its site's number and counts there, so that site stays, and so does one that was
 *           told a keep time.
 * locks     Its own, to add and to evict; nothing else is taken with it held.
 * orders    Numbers are found without a lock: a record is complete before its number is released into the index. Counts
 *           are relaxed. Who found a number just before it was evicted counts for the wrong site once.
 * failure   No room, or no memory for the table: site 0, which stands for none, and counted.
 * not here  When a block comes and goes: blocks/big.c, blocks/large.c. Names: api.
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

enum { HAK_SITES = 6144, HAK_SITE_DEPTHS = 254 };
static_assert(HAK_SITE_DEPTHS < UINT8_MAX, "hak_site.wide");

/* Blocks are counted with the bytes that they have, not those that were asked for. What is live is count - freed and
 * bytes - freed_bytes. */
struct hak_site {
  uint64_t address; /* 0: none */
  uint32_t depth;   /* of the stack, in units of 16 bytes; 0: all that have no record of their own */
  uint8_t wide;     /* 0: no; else 1 + its depths with a record of their own, HAK_SITE_DEPTHS at most */
  bool used, grows; /* grows: blocks of it were made longer */
  uint8_t keep;     /* how long its free memory stays (retain/rent.h); 0: as the price says */
  uint64_t count, bytes;       /* blocks taken */
  uint64_t freed, freed_bytes; /* of these */
  uint64_t life_ms;            /* of those that were freed, in all */
  uint64_t gaps, gap_ms;       /* how often what it freed was taken again, and after how long, in all */
  uint64_t hits, fetched;      /* blocks that free memory served; pages that the kernel gave for the others */
  uint64_t scales;             /* bit k: a block of 2^k bytes to twice as many was taken */
};
static_assert(sizeof(struct hak_site) <= 128, "HAK_SITES of them are less than a MiB");

/* By number. Until there is a site it is one record, and the table is not mapped: a collector of garbage looks through
 * all zero data that a library has, and waits for more garbage when that is much. */
extern HAK_HIDDEN struct hak_site *g_site_table;
#define g_site HAK_PEEK(&g_site_table)

/* For when free memory is held (retain/rent.h): maps the table if it is not there yet, and fetches its pages. */
void hak_site_reserve(void);

/* Bytes mapped for it, and where. */
size_t hak_site_table_bytes(void);
void hak_site_extents(struct hak_extents *list);

/* The number of the site at this address, of a call whose frame this is. 0: there is no room. */
unsigned hak_site_of(const void *address, const void *frame);

/* Will what it asks for be there for long, as it is? Most of what it had is. */
bool hak_site_lasts(unsigned site);

/* Do its blocks lie elsewhere than those that go soon? Where they last, unless it was learnt that this does not pay. */
bool hak_site_is_sampled(unsigned site);

/* What this site's blocks leave free stays for this keep time from now on, at all depths. False: there is no room. */
bool hak_site_set_keep(const void *address, unsigned keep);

/* Records in use are those below. */
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

/* `site` had what `before` had freed. */
HAK_INLINE void hak_site_hit(unsigned site, unsigned before, uint64_t gap_ms) {
  hak_site_served(site);
  hak_site_add(&g_site[before].gaps, 1);
  if (gap_ms != 0) hak_site_add(&g_site[before].gap_ms, gap_ms);
}

static inline void hak_site_fetched(unsigned site, uint64_t pages) { hak_site_add(&g_site[site].fetched, pages); }

#endif
