/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_table.c: which mappings are live blocks.
 *
 * what      An open-addressing table: linear probing, at most 3/4 full, tombstones dropped when the table is replaced.
 *           A block is found by any address inside: a block of 2^(k-1) + 1 to 2^k bytes is entered under scale k and
 *           the number n = start address / 2^k, so the block that contains p is entered under n = p / 2^k or the number
 *           before. Only few scales are in use.
 *
 *               2^k   |   .  [block ... |  p  ...]  .   |
 *                        n entered      n + 1 = p / 2^k
 *
 *           Mappings that the kernel refuses to unmap are entered, too, with HAK_BIG_REFUSED.
 *
 *           The bytes of a live block are found without the lock: a slot stays unchanged until the table is replaced,
 *           and a replaced table stays mapped, without pages, until a table of the same capacity is needed.
 * not here  Mapping and unmapping blocks: big.c.
 */
#include "base/bits.h"
#include "blocks/big_internal.h"
#include "os/os.h"
#include "retain/rent.h"
#include "tables/meta.h"

enum { FIRST_SLOTS = 256 };

static struct hak_big_table no_table;

struct hak_big g_big = {.table = &no_table};

/* The smallest k with bytes <= 2^k; bytes > 1. */
static unsigned scale_of(size_t bytes) { return hak_highest_bit(bytes - 1) + 1; }

/* Multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4). */
static size_t hash_of_block(unsigned scale, uintptr_t number) {
  return (size_t)((number << 6 | scale) * 0x9e3779b97f4a7c15u >> 20);
}

static size_t home_of_block(const struct hak_big_table *t, unsigned scale, uintptr_t number) {
  return hash_of_block(scale, number) & (t->capacity - 1);
}

static bool is_block_live(const struct hak_big_slot *s) {
  return s->address > HAK_BIG_TOMB && !(s->facts & HAK_BIG_REFUSED);
}

/* ---- find ---- */

/* The live block under this scale and number that contains the address; NULL if none. */
HAK_INLINE struct hak_big_slot *find_under(struct hak_big_table *t, unsigned scale, uintptr_t number,
                                           uintptr_t address) {
  for (size_t i = home_of_block(t, scale, number);; i = (i + 1) & (t->capacity - 1)) {
    struct hak_big_slot *s = &t->slots[i];
    if (address - s->address < hak_big_bytes_of(s->facts) && is_block_live(s)) return s;
    if (s->address == 0) return NULL;
  }
}

struct hak_big_slot *hak_big_find_locked(uintptr_t address) {
  struct hak_big_table *t = g_big.table;
  struct hak_big_slot *s = t->scales != 0 ? find_under(t, (unsigned)t->latest, address >> t->latest, address) : NULL;
  for (uint64_t scales = t->scales; s == NULL && scales != 0; scales &= scales - 1) {
    unsigned scale = hak_lowest_bit(scales);
    s = find_under(t, scale, address >> scale, address);
  }
  return s != NULL && s->address == address ? s : NULL;
}

struct hak_big_slot *hak_big_find_around_locked(uintptr_t address) {
  struct hak_big_table *t = g_big.table;
  for (uint64_t scales = t->scales; scales != 0; scales &= scales - 1) {
    unsigned scale = hak_lowest_bit(scales);
    struct hak_big_slot *s = find_under(t, scale, address >> scale, address);
    if (s == NULL) s = find_under(t, scale, (address >> scale) - 1, address);
    if (s != NULL) return s;
  }
  return NULL;
}

bool hak_big_is_refused_locked(uintptr_t address) {
  for (size_t i = 0; g_big.refused != 0 && i < g_big.table->capacity; i++) {
    const struct hak_big_slot *s = &g_big.table->slots[i];
    bool refused = s->address > HAK_BIG_TOMB && !is_block_live(s);
    if (refused && address - s->address < hak_big_bytes_of(s->facts)) return true;
  }
  return false;
}

/* ---- without the lock ---- */

static size_t bytes_under(const struct hak_big_table *t, size_t capacity, unsigned scale, uintptr_t address) {
  size_t i = hash_of_block(scale, address >> scale) & (capacity - 1);
  for (size_t n = 0; n < capacity; n++, i = (i + 1) & (capacity - 1)) {
    uintptr_t at = hak_load_acquire(&t->slots[i].address);
    if (at == 0) return 0;
    uint64_t facts = hak_load(&t->slots[i].facts);
    if (at == address) return facts & HAK_BIG_REFUSED ? 0 : hak_big_usable_of(facts);
  }
  return 0;
}

/* A replaced table has capacity 0. */
static size_t bytes_in_table(const struct hak_big_table *t, uintptr_t address) {
  size_t capacity = hak_load(&t->capacity);
  size_t bytes = capacity != 0 ? bytes_under(t, capacity, (unsigned)hak_load(&t->latest), address) : 0;
  for (uint64_t scales = hak_load(&t->scales); capacity != 0 && bytes == 0 && scales != 0; scales &= scales - 1) {
    bytes = bytes_under(t, capacity, hak_lowest_bit(scales), address);
  }
  return bytes;
}

size_t hak_big_bytes(const void *p) {
  for (;;) {
    uint64_t made = hak_load_acquire(&g_big.made);
    size_t bytes = bytes_in_table(hak_load_acquire(&g_big.table), (uintptr_t)p);
    hak_fence();
    if (HAK_LIKELY(hak_load(&g_big.made) == made)) return bytes;
  }
}

/* For a signal handler: reads table and pieces without the lock. A concurrent change may be missed, and a table that is
 * replaced meanwhile may cause a fault. */
static struct hak_big_seen identify_piece(uintptr_t address) {
  for (size_t i = 0, n = hak_min(hak_load(&g_big.pieces), HAK_BIG_PIECES); i < n; i++) {
    uintptr_t start = (uintptr_t)hak_load(&g_big_piece[i].address);
    size_t bytes = hak_load(&g_big_piece[i].bytes);
    if (address - start < bytes) return (struct hak_big_seen){start, bytes, hak_load(&g_big_piece[i].site), false};
  }
  return (struct hak_big_seen){0};
}

struct hak_big_seen hak_big_identify(const void *p) {
  const struct hak_big_slot *s = hak_big_find_around_locked((uintptr_t)p);
  if (s == NULL) return identify_piece((uintptr_t)p);
  return (struct hak_big_seen){s->address, hak_big_usable_of(s->facts), (uint16_t)s->origin, true};
}

/* ---- room ---- */

/* Returns the number of slots used up: 0 if the entry took the slot of a tombstone. */
HAK_INLINE size_t insert_block(struct hak_big_table *t, uintptr_t address, uint64_t facts, uint64_t origin) {
  unsigned scale = scale_of(hak_big_bytes_of(facts));
  size_t i = home_of_block(t, scale, address >> scale);
  while (t->slots[i].address > HAK_BIG_TOMB) i = (i + 1) & (t->capacity - 1);
  struct hak_big_slot *s = &t->slots[i];
  size_t fresh = s->address == 0;
  hak_store(&t->scales, t->scales | (uint64_t)1 << scale);
  hak_store(&t->latest, scale);
  hak_store(&s->facts, facts);
  s->origin = origin;
  hak_store_release(&s->address, address);
  return fresh;
}

static uint64_t origin_of(const struct hak_big_piece *piece) {
  return (uint64_t)piece->keep << HAK_BIG_KEEP_SHIFT | piece->since_ms << HAK_BIG_SITE_BITS | piece->site;
}

static uint64_t since_of(uint64_t origin) {
  return (origin & (((uint64_t)1 << HAK_BIG_KEEP_SHIFT) - 1)) >> HAK_BIG_SITE_BITS;
}

static uint8_t keep_of(uint64_t origin) { return (uint8_t)(origin >> HAK_BIG_KEEP_SHIFT); }

static size_t bytes_of_slots(size_t capacity) {
  return hak_round_up(sizeof(struct hak_big_table) + capacity * sizeof(struct hak_big_slot), hak_os_page_bytes());
}

static size_t entries(void) {
  size_t n = 0;
  for (size_t i = 0; i < g_big.table->capacity; i++) n += g_big.table->slots[i].address > HAK_BIG_TOMB;
  return n;
}

/* ---- replaced tables ---- */

/* By the logarithm of the capacity: at most two per capacity, counting the table in use. */
enum { LOGS = 48, OF_EACH = 2 };
static HAK_RARE struct hak_big_table *g_spare[LOGS][OF_EACH];

/* A table of zeros. NULL: no memory. */
static struct hak_big_table *take_table_locked(size_t capacity) {
  struct hak_big_table **spare = g_spare[hak_lowest_bit(capacity)];
  for (unsigned i = 0; i < OF_EACH; i++) {
    struct hak_big_table *t = spare[i];
    spare[i] = NULL;
    if (t != NULL) return t;
  }
  return hak_meta_map(bytes_of_slots(capacity));
}

/* Clears a replaced table whose pages stay. Lock-free readers see the new g_big.made before the cleared slots. */
static void clear_locked(struct hak_big_table *t) {
  hak_fence();
  for (size_t i = 0; i < t->capacity; i++) {
    hak_store(&t->slots[i].address, 0);
    hak_store(&t->slots[i].facts, 0);
  }
  hak_store(&t->scales, 0);
  hak_store(&t->capacity, 0);
}

/* A lock-free reader of this table finds nothing, and repeats the search in the new table. */
static void put_table_locked(struct hak_big_table *t) {
  size_t capacity = t->capacity;
  struct hak_big_table **spare = g_spare[hak_lowest_bit(capacity)];
  if (hak_holds_all() || !hak_os_purge(t, bytes_of_slots(capacity))) clear_locked(t);
  spare[spare[0] != NULL] = t;
}

/* Makes a table without tombstones, at most half full, and publishes the table when complete. False: no memory. */
static bool rebuild_locked(size_t more) {
  struct hak_big_table *old = g_big.table;
  size_t capacity = FIRST_SLOTS, used = 0;
  while (capacity < (entries() + g_big.promised + g_big.pieces + more) * 2) capacity *= 2;
  struct hak_big_table *t = take_table_locked(capacity);
  if (t == NULL) return false;
  hak_store(&t->capacity, capacity);
  for (size_t i = 0; i < old->capacity; i++) {
    const struct hak_big_slot *s = &old->slots[i];
    if (s->address > HAK_BIG_TOMB) used += insert_block(t, s->address, s->facts, s->origin);
  }
  hak_store_release(&g_big.table, t);
  hak_store_release(&g_big.made, g_big.made + 1);
  g_big.used = used;
  if (old != &no_table) put_table_locked(old);
  return true;
}

bool hak_big_has_room_locked(size_t n) {
  size_t needed = g_big.used + g_big.promised + g_big.pieces + n, capacity = g_big.table->capacity;
  return needed <= capacity - capacity / 4 || rebuild_locked(n);
}

bool hak_big_promise_locked(void) {
  bool room = hak_big_has_room_locked(1);
  g_big.promised += room;
  return room;
}

/* A fork may have cleared the promises meanwhile. */
void hak_big_drop_promise_locked(void) {
  if (g_big.promised != 0) g_big.promised--;
}

static size_t bytes_in_use_locked(void) {
  return g_big.table == &no_table ? 0 : bytes_of_slots(g_big.table->capacity);
}

/* Fetches the pages of replaced tables, too, as these may be used again. */
void hak_big_populate_table_locked(void) {
  size_t bytes = bytes_in_use_locked();
  if (bytes != 0) hak_os_populate(g_big.table, bytes, true);
  for (unsigned i = 0; i < LOGS * OF_EACH; i++) {
    struct hak_big_table *spare = g_spare[i / OF_EACH][i % OF_EACH];
    if (spare != NULL) hak_os_populate(spare, bytes_of_slots((size_t)1 << i / OF_EACH), true);
  }
}

size_t hak_big_table_bytes_locked(void) {
  size_t bytes = bytes_in_use_locked();
  for (unsigned i = 0; i < LOGS * OF_EACH; i++) {
    if (g_spare[i / OF_EACH][i % OF_EACH] != NULL) bytes += bytes_of_slots((size_t)1 << i / OF_EACH);
  }
  return bytes;
}

static void spare_extents_locked(struct hak_extents *list) {
  for (unsigned i = 0; i < LOGS * OF_EACH; i++) {
    const struct hak_big_table *t = g_spare[i / OF_EACH][i % OF_EACH];
    if (t != NULL) hak_extents_add(list, t, bytes_of_slots((size_t)1 << i / OF_EACH), HAK_EXTENT_METADATA);
  }
}

void hak_big_table_extents_locked(struct hak_extents *list) {
  struct hak_big_table *t = g_big.table;
  hak_extents_add(list, t, bytes_in_use_locked(), HAK_EXTENT_METADATA);
  spare_extents_locked(list);
  for (size_t i = 0, left = g_big.live_blocks + g_big.refused; i < t->capacity && left != 0; i++) {
    const struct hak_big_slot *s = &t->slots[i];
    if (s->address <= HAK_BIG_TOMB) continue;
    enum hak_extent_kind kind = is_block_live(s) ? HAK_EXTENT_BIG : HAK_EXTENT_EMPTY;
    size_t usable = hak_big_usable_of(s->facts);
    hak_extents_add(list, (const void *)s->address, usable, kind);
    hak_extents_add(list, (const void *)(s->address + usable), hak_big_slack_of(s->facts), HAK_EXTENT_KEPT);
    left--;
  }
}

/* ---- entries ---- */

static void add_slack(uint64_t bytes) {
  g_big.slack_bytes += bytes;
  g_big.kept_bytes += bytes;
}

void hak_big_enter_locked(const struct hak_big_piece *block) {
  hak_big_drop_promise_locked();
  uint64_t facts = block->bytes | block->slack >> 12 | (uint64_t)block->fetch << HAK_BIG_FETCH_SHIFT;
  g_big.used += insert_block(g_big.table, (uintptr_t)block->address, facts, origin_of(block));
  hak_big_add_live_locked(block->keep, hak_big_usable(block));
  if (HAK_UNLIKELY(block->slack != 0)) add_slack(block->slack);
  g_big.live_blocks++;
}

/* Field by field: a load of the whole piece would wait for recent stores to its parts. */
HAK_INLINE void fill_piece(struct hak_big_piece *piece, const struct hak_big_slot *s) {
  piece->address = (char *)s->address;
  piece->bytes = hak_big_bytes_of(s->facts);
  piece->since_ms = since_of(s->origin);
  piece->site = (uint16_t)s->origin;
  piece->keep = keep_of(s->origin);
  piece->fetch = (uint8_t)((s->facts & HAK_BIG_FETCH) >> HAK_BIG_FETCH_SHIFT);
  piece->slack = (uint32_t)hak_big_slack_of(s->facts);
}

bool hak_big_erase_locked(struct hak_big_slot *s, struct hak_big_piece *block) {
  if (s == NULL) return *block = (struct hak_big_piece){0}, false;
  fill_piece(block, s);
  hak_store_release(&s->address, HAK_BIG_TOMB);
  hak_big_add_live_locked(block->keep, -(uint64_t)hak_big_usable(block));
  if (HAK_UNLIKELY(block->slack != 0)) add_slack(-(uint64_t)block->slack);
  g_big.live_blocks--;
  g_big.promised++;
  return true;
}

static struct hak_big_slot *find_slack(void) {
  struct hak_big_table *t = g_big.table;
  for (size_t i = 0; g_big.slack_bytes != 0 && i < t->capacity; i++) {
    struct hak_big_slot *s = &t->slots[i];
    if (is_block_live(s) && (s->facts & HAK_BIG_SLACK) != 0) return s;
  }
  return NULL;
}

struct hak_big_piece hak_big_take_slack_locked(void) {
  struct hak_big_piece block, rest = {0};
  bool room = g_big.slack_bytes != 0 && hak_big_has_room_locked(2); /* a block of a new scale leaves a tombstone */
  if (!hak_big_erase_locked(room ? find_slack() : NULL, &block)) return rest;
  rest = block;
  rest.bytes = block.slack;
  block.bytes -= rest.bytes;
  rest.address += block.bytes;
  rest.slack = block.slack = 0;
  rest.empty = false;
  hak_big_enter_locked(&block);
  g_big.promised++;
  return rest;
}

void hak_big_refuse_locked(struct hak_big_piece mapping) {
  g_big.used += insert_block(g_big.table, (uintptr_t)mapping.address, mapping.bytes | HAK_BIG_REFUSED, 0);
  g_big.empty_bytes += mapping.bytes;
  g_big.refused++;
}

struct hak_big_piece hak_big_take_refused_locked(size_t *from) {
  while (g_big.refused != 0 && *from < g_big.table->capacity) {
    struct hak_big_slot *s = &g_big.table->slots[(*from)++];
    if (s->address <= HAK_BIG_TOMB || is_block_live(s)) continue;
    struct hak_big_piece mapping;
    fill_piece(&mapping, s); /* as a piece with pages: the entry does not tell */
    hak_store_release(&s->address, HAK_BIG_TOMB);
    g_big.empty_bytes -= mapping.bytes;
    g_big.refused--;
    g_big.promised++;
    return mapping;
  }
  return (struct hak_big_piece){0};
}

/* The cache is dropped, and leaks: a piece may be listed twice, or be handed out already. */
void hak_big_take_census(void) {
  g_big.used = g_big.promised = g_big.refused = g_big.pieces = g_big.empties = 0;
  g_big.claimed_bytes = g_big.live_bytes = g_big.live_blocks = g_big.empty_bytes = g_big.kept_bytes = g_big.seams = 0;
  g_big.told_bytes = g_big.slack_bytes = 0;
  for (unsigned k = 0; k < HAK_KEEPS; k++) g_big_cache[k].live_bytes = 0;
  for (size_t i = 0; i < g_big.table->capacity; i++) {
    const struct hak_big_slot *s = &g_big.table->slots[i];
    g_big.used += s->address != 0;
    if (s->address <= HAK_BIG_TOMB) continue;
    g_big.refused += !is_block_live(s);
    g_big.live_blocks += is_block_live(s);
    if (is_block_live(s)) hak_big_add_live_locked(keep_of(s->origin), hak_big_usable_of(s->facts));
    else g_big.empty_bytes += hak_big_bytes_of(s->facts);
    if (is_block_live(s)) add_slack(hak_big_slack_of(s->facts));
  }
}
