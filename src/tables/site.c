/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* site.c: call sites, and how long their blocks live.
 *
 * what      The table of sites; see site.h.
 */
#include "tables/site.h"

#include "os/lock.h"
#include "os/os.h"
#include "os/self.h"
#include "tables/counters.h"
#include "tables/meta.h"
#include "tables/snapshot.h"

enum {
  INDEX = 1 << 14,   /* more than twice the sites */
  EVICTED = HAK_SITES / 8,
  SEARCHED_EVERY = EVICTED, /* calls for a record per search for evictable sites: makes searches cheap */
  JUDGED_EVERY = 16, /* blocks of a site */
  WIDE_SCALES = 3,   /* a site whose sizes span this many powers of two is a wrapper, */
  WIDE_SHARE = 4,    /* and so is a site with a fourth of all blocks, */
  WIDE_COUNT = 64    /* once this many blocks were counted */
};

static HAK_TABLE_AT(3) struct hak_site nobody;
struct hak_site *g_site_table = &nobody;

static HAK_TABLE struct {
  struct hak_lock lock;
  uint32_t end;  /* records below were used; 0: no record */
  uint32_t hand; /* of the clock */
  uint32_t free; /* first free record below `end`, linked by `depth`; 0: none free */
  uint64_t judged; /* blocks counted by judge_site */
  uint64_t asked, searched; /* calls for a record; `asked` at the last search */
  uint16_t *index; /* NULL: no table yet */
} g_sites;

unsigned hak_site_end(void) { return hak_load_acquire(&g_sites.end); }

/* ---- finding ---- */

/* Multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4). */
static size_t home_of_site(uintptr_t address, uint32_t depth) {
  return (size_t)(((uint64_t)address + ((uint64_t)depth << 40)) * 0x9e3779b97f4a7c15u >> 50);
}
static_assert(INDEX == 1 << (64 - 50), "home_of");

static bool is_site(const struct hak_site *s, uintptr_t address, uint32_t depth) {
  return hak_load(&s->address) == address && hak_load(&s->depth) == depth;
}

HAK_INLINE unsigned find_site(uintptr_t address, uint32_t depth) {
  const uint16_t *index = hak_load_acquire(&g_sites.index);
  if (HAK_UNLIKELY(index == NULL)) return 0;
  for (size_t i = home_of_site(address, depth);; i = (i + 1) % INDEX) {
    unsigned n = hak_load_acquire(&index[i]);
    if (n == 0 || HAK_LIKELY(is_site(&g_site[n], address, depth))) return n;
  }
}

/* ---- adding ---- */

static void enter_site_locked(unsigned n) {
  size_t i = home_of_site(g_site[n].address, g_site[n].depth);
  while (g_sites.index[i] != 0) i = (i + 1) % INDEX;
  hak_store_release(&g_sites.index[i], (uint16_t)n);
}

static void let_go_locked(unsigned n) {
  hak_store(&g_site[n].depth, g_sites.free);
  hak_store(&g_sites.free, n);
}

/* Counts one more depth with a record for the site whose record is `all`. */
static void note_depth_locked(unsigned all) {
  size_t wide = hak_max(hak_load(&g_site[all].wide), 1);
  if (all != 0) hak_store(&g_site[all].wide, (uint8_t)hak_min(wide + 1, HAK_SITE_DEPTHS + 1));
}

static void count_depths_locked(void) {
  for (unsigned n = 1; n < g_sites.end; n++) hak_store(&g_site[n].wide, (uint8_t)hak_min(hak_load(&g_site[n].wide), 1));
  for (unsigned n = 1; n < g_sites.end; n++) {
    const struct hak_site *s = &g_site[n];
    if (s->address != 0 && s->depth != 0) note_depth_locked(find_site(s->address, 0));
  }
}

/* Enters all records into an empty index. A concurrent reader finds fewer records, then waits for the lock in
 * add_site. */
static void index_anew_locked(void) {
  if (g_sites.index == NULL) return;
  for (size_t i = 0; i < INDEX; i++) hak_store(&g_sites.index[i], 0);
  hak_store(&g_sites.free, 0);
  for (unsigned n = g_sites.end; n-- > 1;) {
    if (g_site[n].address != 0) enter_site_locked(n);
    else let_go_locked(n);
  }
  count_depths_locked();
}

/* True if the site may be evicted: without live blocks, without a keep time of its own, and not used since the clock's
 * hand last passed. A block whose site is evicted while the block is being counted is later freed on the record's next
 * site, without having been counted there. */
static bool site_may_go(struct hak_site *s) {
  bool used = hak_load(&s->used);
  hak_store(&s->used, false);
  bool idle = hak_load(&s->count) <= hak_load(&s->freed) && hak_load(&s->keep) == 0;
  return !used && s->address != 0 && idle;
}

static unsigned evict_some_locked(void) {
  unsigned gone = 0;
  for (unsigned steps = 2 * HAK_SITES; steps > 0 && gone < EVICTED; steps--) {
    g_sites.hand = g_sites.hand % (HAK_SITES - 1) + 1;
    struct hak_site *s = &g_site[g_sites.hand];
    if (!site_may_go(s)) continue;
    hak_store(&s->address, 0);
    gone++;
  }
  return gone;
}

static void evict_site_locked(void) {
  unsigned gone = evict_some_locked();
  hak_count(HAK_COUNTER_sites_evicted, gone);
  if (gone != 0) index_anew_locked();
  hak_store(&g_sites.searched, hak_load(&g_sites.asked));
}

static bool search_is_due(void) { return hak_load(&g_sites.asked) - hak_load(&g_sites.searched) >= SEARCHED_EVERY; }

/* True if no record is free and no search for evictable sites is due. Without the lock, as each block of a site without
 * a record calls this. */
static bool is_full(void) { return hak_site_end() == HAK_SITES && hak_load(&g_sites.free) == 0 && !search_is_due(); }

static size_t site_table_bytes(void) {
  size_t bytes = (HAK_SITE_REST + 1) * sizeof(struct hak_site) + INDEX * sizeof(uint16_t);
  return hak_round_up(bytes, hak_os_page_bytes());
}

void hak_site_extents(struct hak_extents *list) {
  if (hak_load_acquire(&g_sites.index) == NULL) return;
  hak_extents_add(list, hak_load(&g_site_table), site_table_bytes(), HAK_EXTENT_METADATA);
}

size_t hak_site_table_bytes(void) { return hak_load(&g_sites.index) != NULL ? site_table_bytes() : 0; }

/* All but the address, each field by itself: readers without the lock look at records that change. */
static void write_site(struct hak_site *to, const struct hak_site *from) {
  hak_store(&to->depth, hak_load(&from->depth));
  hak_store(&to->wide, hak_load(&from->wide));
  hak_store(&to->used, hak_load(&from->used));
  hak_store(&to->grows, hak_load(&from->grows));
  hak_store(&to->keep, hak_load(&from->keep));
  hak_store(&to->count, hak_load(&from->count));
  hak_store(&to->bytes, hak_load(&from->bytes));
  hak_store(&to->freed, hak_load(&from->freed));
  hak_store(&to->freed_bytes, hak_load(&from->freed_bytes));
  hak_store(&to->life_ms, hak_load(&from->life_ms));
  hak_store(&to->gaps, hak_load(&from->gaps));
  hak_store(&to->gap_ms, hak_load(&from->gap_ms));
  hak_store(&to->hits, hak_load(&from->hits));
  hak_store(&to->fetched, hak_load(&from->fetched));
  hak_store(&to->scales, hak_load(&from->scales));
}

static bool map_sites_locked(void) {
  struct hak_site *table = hak_meta_map(site_table_bytes());
  if (table == NULL) return false;
  write_site(table, &nobody);
  hak_store_release(&g_site_table, table);
  hak_store_release(&g_sites.index, (uint16_t *)(table + HAK_SITE_REST + 1));
  return true;
}

/* Populates a table that was mapped before hak_holds_all was true, or maps a table. */
void hak_site_reserve(void) {
  if (hak_lock_take(&g_sites.lock)) index_anew_locked();
  bool there = g_sites.index != NULL;
  if (!there) map_sites_locked();
  hak_lock_drop(&g_sites.lock);
  if (there) hak_os_populate(hak_load(&g_site_table), site_table_bytes(), true);
}

/* Takes a free record; 0: no record. */
static unsigned take_entry_locked(void) {
  if (g_sites.index == NULL && !map_sites_locked()) return 0;
  if (g_sites.end == 0) hak_store_release(&g_sites.end, 1);
  if (g_sites.end < HAK_SITES) {
    hak_store_release(&g_sites.end, g_sites.end + 1);
    return g_sites.end - 1;
  }
  if (g_sites.free == 0 && search_is_due()) evict_site_locked();
  unsigned n = g_sites.free;
  if (n != 0) hak_store(&g_sites.free, g_site[n].depth);
  return n;
}

static unsigned add_site_locked(uintptr_t address, uint32_t depth) {
  unsigned n = find_site(address, depth);
  if (n != 0 || (n = take_entry_locked()) == 0) return n;
  unsigned all = depth != 0 ? find_site(address, 0) : 0;
  write_site(&g_site[n], &(struct hak_site){.depth = depth, .used = true, .keep = hak_load(&g_site[all].keep)});
  hak_store_release(&g_site[n].address, address);
  enter_site_locked(n);
  note_depth_locked(all);
  return n;
}

static unsigned lose_site(void) {
  hak_count(HAK_COUNTER_sites_lost, 1);
  return 0;
}

static HAK_NOINLINE unsigned add_site(uintptr_t address, uint32_t depth) {
  hak_site_add(&g_sites.asked, 1);
  if (is_full()) return lose_site();
  if (hak_lock_take(&g_sites.lock)) index_anew_locked(); /* in a fork's child: the records are the truth */
  unsigned n = add_site_locked(address, depth);
  hak_lock_drop(&g_sites.lock);
  if (n == 0) return lose_site();
  hak_count(HAK_COUNTER_sites, 1);
  return n;
}

HAK_INLINE unsigned find_or_add(uintptr_t address, uint32_t depth) {
  unsigned n = find_site(address, depth);
  return HAK_LIKELY(n != 0) ? n : add_site(address, depth);
}

/* ---- wrappers: a record per depth ---- */

/* Every JUDGED_EVERY blocks of a site: marks the site as a wrapper by its sizes or its share of all blocks so far. */
static HAK_NOINLINE void judge_site(struct hak_site *s) {
  uint64_t all = hak_load(&g_sites.judged) + JUDGED_EVERY;
  hak_store(&g_sites.judged, all);
  bool sizes = __builtin_popcountll(hak_load(&s->scales)) >= WIDE_SCALES;
  bool share = all >= WIDE_COUNT && hak_load(&s->count) >= all / WIDE_SHARE;
  if (sizes || share) hak_store(&s->wide, 1);
}

HAK_INLINE unsigned use(unsigned n) {
  if (HAK_UNLIKELY(!hak_load(&g_site[n].used))) hak_store(&g_site[n].used, true);
  return n;
}

/* False once a site has HAK_SITE_DEPTHS records: recursion or many stacks give ever new depths, which must not fill the
 * table. */
static bool may_have_depth(unsigned n) { return hak_load(&g_site[n].wide) <= HAK_SITE_DEPTHS; }

/* The record of this depth, or the site's record if the depth has no room. */
HAK_INLINE unsigned at_depth(unsigned n, uintptr_t address, const void *frame) {
  uint32_t depth = hak_self_depth(frame);
  unsigned own = find_site(address, depth);
  if (HAK_UNLIKELY(own == 0) && may_have_depth(n)) own = add_site(address, depth);
  return use(own != 0 ? own : n);
}

unsigned hak_site_of(const void *address, const void *frame) {
  if (HAK_UNLIKELY(address == NULL)) return 0;
  unsigned n = use(find_or_add((uintptr_t)address, 0));
  struct hak_site *s = &g_site[n];
  if (hak_load(&s->wide)) return at_depth(n, (uintptr_t)address, frame);
  if (HAK_UNLIKELY(hak_load(&s->count) % JUDGED_EVERY == JUDGED_EVERY - 1 && n != 0)) judge_site(s);
  return n;
}

unsigned hak_site_of_sampled(const void *address, const void *frame) {
  unsigned n = hak_site_of(address, frame);
  return n == 0 && hak_load_acquire(&g_sites.index) != NULL ? HAK_SITE_REST : n;
}

/* ---- lifetimes ---- */

/* True if most of the site's blocks are live and no block grew. Fewer than FEW blocks prove nothing. */
HAK_INLINE bool lasts(unsigned site) {
  enum { FEW = 8 };
  const struct hak_site *s = &g_site[site];
  uint64_t count = hak_load(&s->count), freed = hak_load(&s->freed);
  return count >= FEW && freed < count - hak_min(freed, count) && !hak_load(&s->grows);
}

bool hak_site_lasts(unsigned site) { return lasts(site); }

bool hak_site_is_apart(unsigned site) {
  if (HAK_LIKELY(!lasts(site))) return false;
  hak_count(HAK_COUNTER_asked_lasting, 1);
  return hak_decided(HAK_DECIDED_place) == 0;
}

/* Finds or adds a record, with a search for evictable sites at once: hak_site_set_keep is rare. */
static unsigned find_or_search(uintptr_t address) {
  unsigned n = find_or_add(address, 0);
  if (n != 0) return n;
  hak_store(&g_sites.searched, hak_load(&g_sites.asked) - SEARCHED_EVERY);
  return find_or_add(address, 0);
}

/* The number of records: a depth that is added later has the keep time of the record of all depths. */
static unsigned set_keep_locked(uintptr_t address, unsigned keep) {
  unsigned set = 0;
  for (unsigned n = 1; n < g_sites.end; n++) {
    if (g_site[n].address != address) continue;
    hak_store(&g_site[n].keep, (uint8_t)keep);
    set++;
  }
  return set;
}

bool hak_site_set_keep(const void *address, unsigned keep) {
  if (find_or_search((uintptr_t)address) == 0) return false;
  if (hak_lock_take(&g_sites.lock)) index_anew_locked();
  unsigned set = set_keep_locked((uintptr_t)address, keep);
  hak_lock_drop(&g_sites.lock);
  return set != 0; /* 0: evicted since */
}
