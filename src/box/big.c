/* big.c: blocks mapped one by one, and a bounded cache of freed ones.
 *
 * what      An open-addressing table (linear probing, at most 3/4 full, tombstones swept when it grows) and an array of
 *           kept blocks, oldest first. See big.h.
 *
 *           The table finds a block by any address in it: a block of 2^(k-1) + 1 to 2^k bytes is entered under scale k
 *           and its first address / 2^k, so that what contains p is entered under p / 2^k or the number before, for
 *           one of the few scales in use.
 *
 *               2^k   |   .  [block ... |  p  ...]  .   |
 *                        n entered      n + 1 = p / 2^k
 *
 *           A mapping that the kernel refuses to take back (it may not be split, as there are too many) loses its pages
 *           and waits, as an empty one at the head of the cache for whoever wants its addresses, or marked in the table
 *           when the cache is full. A trim offers it again.
 * owner     g_big, g_kept.
 * locks     g_big.lock. A vanished holder: the counts are taken anew from the table; the cache is dropped (it leaks).
 * orders    See big.h.
 * hot path  No.
 * failure   NULL; a slot in the table is promised before a mapping is made and while it is kept or unmapped, so nothing
 *           is half-built and what cannot be unmapped has a place.
 * not here  How much may be kept beyond three bounds and the rent: front/caretaker.c.
 */
#include "box/big.h"

#include "base/bits.h"
#include "core/counters.h"
#include "core/footprint.h"
#include "core/knobs.h"
#include "os/lock.h"
#include "os/os.h"

enum { FIRST_SLOTS = 256, KEPT_MAX = 64, EMPTIES_MAX = 32, SLACK_SHIFT = 3 };

struct slot {
  uintptr_t address; /* 0: never used; TOMB: used once */
  size_t bytes;      /* a multiple of the page; plus REFUSED when the kernel would not take the mapping back */
};

#define TOMB ((uintptr_t)1)
#define REFUSED ((size_t)1)

/* One mapping, so that one store replaces all of it. */
struct table {
  size_t capacity; /* of slots, a power of two */
  uint64_t scales; /* bit k: blocks of scale k were entered */
  uint64_t latest; /* the scale entered last, which is likely to be asked for next */
  struct slot slots[];
};
static struct table no_table;

struct kept {
  char *address;
  size_t bytes;
  uint64_t since_ms;
  bool empty; /* the kernel took the pages, but not the addresses */
};

static HAK_RARE struct kept g_kept[KEPT_MAX + 1]; /* a freed block is entered first, then the bounds are kept */

static struct {
  struct hak_lock lock;
  struct table *table;
  size_t used;     /* slots whose address is not 0 */
  size_t promised; /* slots for blocks that are being mapped or unmapped; each kept block has one besides */
  uint64_t live_bytes, live_blocks, kept_bytes;
  uint64_t empty_bytes;   /* of kept blocks that are empty, and of entries marked REFUSED */
  uint64_t claimed_bytes; /* about to be mapped */
  struct hak_tally tally;
  size_t kept_count, empties; /* the first of the kept blocks are empty */
  size_t refused;             /* entries so marked */
} g_big = {.table = &no_table};

/* ---- the table ---- */

/* The smallest k with bytes <= 2^k; bytes > 1. */
static unsigned scale_of(size_t bytes) { return hak_highest_bit((bytes & ~REFUSED) - 1) + 1; }

/* Multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4). */
static size_t home_of(const struct table *t, unsigned scale, uintptr_t number) {
  return (size_t)((number << 6 | scale) * 0x9e3779b97f4a7c15u >> 20) & (t->capacity - 1);
}

static bool is_live(const struct slot *s) { return s->address > TOMB && !(s->bytes & REFUSED); }

/* The live block among those entered under this scale and number that contains the address; NULL. */
HAK_INLINE struct slot *find_under_locked(struct table *t, unsigned scale, uintptr_t number, uintptr_t address) {
  for (size_t i = home_of(t, scale, number);; i = (i + 1) & (t->capacity - 1)) {
    struct slot *s = &t->slots[i];
    if (address - s->address < s->bytes && is_live(s)) return s;
    if (s->address == 0) return NULL;
  }
}

/* The live block that begins at this address; NULL. */
static struct slot *find_locked(uintptr_t address) {
  struct table *t = g_big.table;
  struct slot *s = t->scales != 0 ? find_under_locked(t, (unsigned)t->latest, address >> t->latest, address) : NULL;
  for (uint64_t scales = t->scales; s == NULL && scales != 0; scales &= scales - 1) {
    unsigned scale = hak_lowest_bit(scales);
    s = find_under_locked(t, scale, address >> scale, address);
  }
  return s != NULL && s->address == address ? s : NULL;
}

/* The live block that contains this address; NULL. */
static struct slot *find_around_locked(uintptr_t address) {
  struct table *t = g_big.table;
  for (uint64_t scales = t->scales; scales != 0; scales &= scales - 1) {
    unsigned scale = hak_lowest_bit(scales);
    struct slot *s = find_under_locked(t, scale, address >> scale, address);
    if (s == NULL) s = find_under_locked(t, scale, (address >> scale) - 1, address);
    if (s != NULL) return s;
  }
  return NULL;
}

/* How many slots it used up: 0 when it took a tombstone's. */
HAK_INLINE size_t insert(struct table *t, uintptr_t address, size_t bytes) {
  unsigned scale = scale_of(bytes);
  size_t i = home_of(t, scale, address >> scale);
  while (t->slots[i].address > TOMB) i = (i + 1) & (t->capacity - 1);
  struct slot *s = &t->slots[i];
  size_t fresh = s->address == 0;
  t->scales |= (uint64_t)1 << scale;
  t->latest = scale;
  s->bytes = bytes;
  hak_store_release(&s->address, address);
  return fresh;
}

/* After a cut: the table is the truth. The cache may name a block twice or a block that was handed out: it leaks. */
static void take_census(void) {
  g_big.used = g_big.promised = g_big.refused = 0;
  g_big.claimed_bytes = g_big.live_bytes = g_big.live_blocks = g_big.empty_bytes = g_big.kept_bytes = 0;
  g_big.kept_count = g_big.empties = 0;
  for (size_t i = 0; i < g_big.table->capacity; i++) {
    const struct slot *s = &g_big.table->slots[i];
    g_big.used += s->address != 0;
    if (s->address <= TOMB) continue;
    g_big.refused += !is_live(s);
    g_big.live_blocks += is_live(s);
    *(is_live(s) ? &g_big.live_bytes : &g_big.empty_bytes) += s->bytes & ~REFUSED;
  }
}

static void take_lock(void) {
  if (hak_lock_take(&g_big.lock)) take_census();
}

static void publish_locked(void) {
  hak_store(&g_footprint.big, g_big.live_bytes + g_big.kept_bytes);
  hak_store(&g_footprint.kept, g_big.kept_bytes);
  hak_store(&g_footprint.claimed, g_big.claimed_bytes);
}

static void drop_lock(void) {
  publish_locked();
  hak_lock_drop(&g_big.lock);
}

/* Does the hard limit leave so many bytes? They are claimed first, and then looked at: whoever takes bytes for the
 * range at the same time does as much. */
static bool claim_locked(uint64_t bytes) {
  g_big.claimed_bytes += bytes;
  publish_locked();
  hak_fence();
  bool ok = hak_footprint_allows(0);
  if (!ok) g_big.claimed_bytes -= bytes;
  return ok;
}

/* What was claimed is live by now, or was not to be had. A fork may have forgotten it meanwhile. */
static void drop_claim_locked(uint64_t bytes) { g_big.claimed_bytes -= hak_min(g_big.claimed_bytes, bytes); }

void hak_big_forget_claims(void) {
  take_lock();
  g_big.claimed_bytes = 0;
  g_big.promised = 0;
  drop_lock();
}

static size_t table_bytes(size_t capacity) {
  return hak_round_up(sizeof(struct table) + capacity * sizeof(struct slot), hak_os_page_bytes());
}

static size_t live_entries(void) {
  size_t n = 0;
  for (size_t i = 0; i < g_big.table->capacity; i++) n += g_big.table->slots[i].address > TOMB;
  return n;
}

/* Enters a mapping that the kernel will not take back. */
static void refuse_locked(void *p, size_t bytes) {
  g_big.used += insert(g_big.table, (uintptr_t)p, bytes | REFUSED);
  g_big.empty_bytes += bytes;
  g_big.refused++;
}

/* A new table without tombstones, at most half full; it takes the old one's place when it is complete. */
static bool rebuild_table_locked(void) {
  struct table *old = g_big.table;
  size_t capacity = FIRST_SLOTS, used = 0;
  while (capacity < (live_entries() + g_big.promised + g_big.kept_count + 1) * 2) capacity *= 2;
  struct table *t = hak_os_map(table_bytes(capacity));
  if (t == NULL) return false;
  t->capacity = capacity;
  for (size_t i = 0; i < old->capacity; i++) {
    if (old->slots[i].address > TOMB) used += insert(t, old->slots[i].address, old->slots[i].bytes);
  }
  hak_store_release(&g_big.table, t);
  g_big.used = used;
  size_t old_bytes = table_bytes(old->capacity);
  if (old != &no_table && !hak_os_unmap(old, old_bytes)) refuse_locked(old, old_bytes);
  return true;
}

/* Is there room for one more entry, after sweeping and growing the table if need be? */
static bool has_room_locked(void) {
  size_t needed = g_big.used + g_big.promised + g_big.kept_count + 1, capacity = g_big.table->capacity;
  return needed <= capacity - capacity / 4 || rebuild_table_locked();
}

/* Makes sure that one more block can be entered later. */
static bool promise_locked(void) {
  bool room = has_room_locked();
  g_big.promised += room;
  return room;
}

static void drop_promise_locked(void) {
  if (g_big.promised != 0) g_big.promised--;
}

static void enter_locked(void *p, size_t bytes) {
  drop_promise_locked();
  g_big.used += insert(g_big.table, (uintptr_t)p, bytes);
  g_big.live_bytes += bytes;
  g_big.live_blocks++;
}

/* Removes the block at p but keeps its place promised; its bytes, 0 when there is none. */
HAK_INLINE size_t erase_locked(const void *p) {
  struct slot *s = find_locked((uintptr_t)p);
  if (s == NULL) return 0;
  hak_store_release(&s->address, TOMB);
  g_big.live_bytes -= s->bytes;
  g_big.live_blocks--;
  g_big.promised++;
  return s->bytes;
}

/* ---- the cache ---- */

/* Blocks on their way to the kernel, each with a slot promised. */
struct victims {
  size_t n;
  struct kept block[KEPT_MAX + 1];
};

HAK_INLINE struct kept remove_kept_locked(size_t i) {
  struct kept k = g_kept[i];
  g_big.kept_count--;
  g_big.empties -= k.empty;
  if (HAK_UNLIKELY(k.empty)) g_big.empty_bytes -= k.bytes;
  else g_big.kept_bytes -= k.bytes;
  __builtin_memmove(&g_kept[i], &g_kept[i + 1], (g_big.kept_count - i) * sizeof k);
  return k;
}

static bool over_bounds(uint64_t bytes, uint64_t count, uint64_t now) {
  const struct kept *oldest = &g_kept[g_big.empties];
  return g_big.kept_bytes > bytes || g_big.kept_count - g_big.empties > count || g_big.kept_count > KEPT_MAX ||
         now - oldest->since_ms > hak_min(hak_knob(big_cache_age), hak_rent_ms(oldest->bytes));
}

/* The oldest blocks that the bounds forbid to keep. */
static void evict_locked(uint64_t bytes, uint64_t count, struct victims *victims) {
  uint64_t now = hak_os_now_ms();
  victims->n = 0;
  while (g_big.kept_count != g_big.empties && over_bounds(bytes, count, now)) {
    struct kept k = remove_kept_locked(g_big.empties);
    hak_tally_given(&g_big.tally, k.bytes);
    victims->block[victims->n++] = k;
  }
  g_big.promised += victims->n;
}

static void keep_locked(struct kept k) {
  g_kept[g_big.kept_count++] = k;
  g_big.kept_bytes += k.bytes;
}

/* Before all others: it is not old, but costs nothing. */
static void keep_empty_locked(struct kept k) {
  __builtin_memmove(&g_kept[1], &g_kept[0], g_big.kept_count * sizeof k);
  g_kept[0] = k;
  g_big.kept_count++;
  g_big.empties++;
  g_big.empty_bytes += k.bytes;
}

/* Mappings that were refused before, as many as there is room for. */
static void take_refused_locked(struct victims *victims) {
  victims->n = 0;
  while (g_big.empties != 0) victims->block[victims->n++] = remove_kept_locked(0);
  for (size_t i = 0; g_big.refused != 0 && i < g_big.table->capacity && victims->n <= KEPT_MAX; i++) {
    struct slot *s = &g_big.table->slots[i];
    if (s->address <= TOMB || is_live(s)) continue;
    struct kept k = {(char *)s->address, s->bytes & ~REFUSED, 0, false}; /* an old table's pages did not go yet */
    victims->block[victims->n++] = k;
    hak_store_release(&s->address, TOMB);
    g_big.empty_bytes -= k.bytes;
    g_big.refused--;
  }
  g_big.promised += victims->n;
}

/* A mapping that may be neither unmapped nor emptied is as good as just freed. */
static void keep_refused_locked(struct kept k) {
  if (!k.empty) hak_rent_refused();
  if (g_big.kept_count >= KEPT_MAX || g_big.empties >= EMPTIES_MAX) refuse_locked(k.address, k.bytes);
  else if (k.empty) keep_empty_locked(k);
  else keep_locked((struct kept){k.address, k.bytes, hak_os_now_ms(), false});
}

/* The kernel may refuse to split a mapping; then the pages go and the addresses wait. Bytes of pages that went. */
static size_t unmap_one(struct kept k) {
  bool gone = hak_os_unmap(k.address, k.bytes), was_empty = k.empty;
  k.empty = k.empty || gone || hak_os_purge(k.address, k.bytes);
  take_lock();
  drop_promise_locked();
  if (!gone) keep_refused_locked(k);
  drop_lock();
  return k.empty && !was_empty ? k.bytes : 0;
}

static size_t unmap_victims(const struct victims *victims) {
  size_t bytes = 0;
  for (size_t i = 0; i < victims->n; i++) bytes += unmap_one(victims->block[i]);
  return bytes;
}

/* May this block serve so many bytes at a multiple of align? An empty one gets its pages anew. */
static bool suits(const struct kept *k, size_t bytes, size_t align) {
  if (k->bytes < bytes || ((uintptr_t)k->address & (align - 1)) != 0) return false;
  return !k->empty || hak_footprint_allows(k->bytes);
}

/* The kept block that fits best: at most 1/8 larger than asked for. */
static size_t best_kept_locked(size_t bytes, size_t align) {
  size_t best = KEPT_MAX, limit = bytes + (bytes >> SLACK_SHIFT);
  for (size_t i = 0; i < g_big.kept_count; i++) {
    const struct kept *k = &g_kept[i];
    if (k->bytes > limit || !suits(k, bytes, align)) continue;
    limit = k->bytes - 1;
    best = i;
  }
  return best;
}

static void *reuse_locked(size_t bytes, size_t align, bool *zero) {
  size_t i = best_kept_locked(bytes, align);
  if (i == KEPT_MAX) return NULL;
  struct kept k = remove_kept_locked(i);
  *zero = k.empty;
  enter_locked(k.address, k.bytes);
  hak_tally_reused(&g_big.tally, k.bytes);
  hak_count(HAK_COUNTER_big_hits, 1);
  return k.address;
}

/* ---- the box ---- */

struct mapping {
  char *address; /* NULL: none */
  size_t bytes;
  bool refused; /* neither aligned nor to be got rid of */
};

/* Cuts off what is too much in front and behind. A tail that the kernel will not take back stays with the block; with
 * such a front the mapping is of no use. */
static struct mapping cut(char *p, size_t bytes, size_t align) {
  char *q = (char *)hak_round_up((uintptr_t)p, align);
  size_t front = (size_t)(q - p), tail = align - front;
  if (front != 0 && !hak_os_unmap(p, front)) {
    bool gone = hak_os_unmap(p, bytes + align);
    return (struct mapping){gone ? NULL : p, bytes + align, !gone};
  }
  return (struct mapping){q, hak_os_unmap(q + bytes, tail) ? bytes : bytes + tail, false};
}

static struct mapping map_aligned(size_t bytes, size_t align) {
  if (align <= hak_os_page_bytes()) return (struct mapping){hak_os_map(bytes), bytes, false};
  char *p = bytes + align < bytes ? NULL : hak_os_map(bytes + align);
  return p == NULL ? (struct mapping){0} : cut(p, bytes, align);
}

/* Once more with the cache emptied, when the kernel has nothing left. */
static struct mapping map_or_trim(size_t bytes, size_t align) {
  struct mapping m = map_aligned(bytes, align);
  return m.address == NULL && hak_big_trim(0) != 0 ? map_aligned(bytes, align) : m;
}

static void *map_promised(size_t bytes, size_t align) {
  struct mapping m = map_or_trim(bytes, align);
  bool usable = m.address != NULL && !m.refused;
  take_lock();
  drop_claim_locked(bytes);
  hak_tally_fetched(&g_big.tally, bytes);
  if (usable) enter_locked(m.address, m.bytes);
  else drop_promise_locked();
  if (m.refused) refuse_locked(m.address, m.bytes);
  drop_lock();
  return usable ? m.address : NULL;
}

void *hak_big_alloc(size_t n, size_t align, bool *zero) {
  size_t bytes = hak_round_up(n, hak_os_page_bytes());
  *zero = false;
  take_lock();
  bool room = promise_locked();
  void *p = room ? reuse_locked(bytes, align, zero) : NULL;
  bool may_map = room && p == NULL && claim_locked(bytes);
  if (room && p == NULL && !may_map) drop_promise_locked();
  drop_lock();
  if (!may_map) return p;
  *zero = true;
  return map_promised(bytes, align);
}

size_t hak_big_bytes(const void *p) {
  take_lock();
  const struct slot *s = find_locked((uintptr_t)p);
  size_t bytes = s != NULL ? s->bytes : 0;
  drop_lock();
  return bytes;
}

const void *hak_big_block_of(const void *p) {
  take_lock();
  const struct slot *s = find_around_locked((uintptr_t)p);
  uintptr_t found = s != NULL ? s->address : 0;
  drop_lock();
  return (const void *)found;
}

static bool is_kept_locked(const void *p) {
  for (size_t i = 0; i < g_big.kept_count; i++) {
    if ((uintptr_t)p - (uintptr_t)g_kept[i].address < g_kept[i].bytes) return true;
  }
  for (size_t i = 0; g_big.refused != 0 && i < g_big.table->capacity; i++) {
    const struct slot *s = &g_big.table->slots[i];
    if (s->address > TOMB && !is_live(s) && (uintptr_t)p - s->address < s->bytes) return true;
  }
  return false;
}

enum hak_error hak_big_judge(const void *p) {
  if (hak_big_block_of(p) != NULL) return HAK_ERROR_interior;
  take_lock();
  bool kept = is_kept_locked(p);
  drop_lock();
  return kept ? HAK_ERROR_given_back : HAK_ERROR_foreign;
}

size_t hak_big_free(void *p) {
  struct victims victims;
  take_lock();
  size_t bytes = erase_locked(p);
  if (bytes != 0) {
    g_big.promised--;
    keep_locked((struct kept){p, bytes, hak_os_now_ms(), false});
  }
  evict_locked(hak_load(&g_knobs.big_cache_bytes), hak_load(&g_knobs.big_cache_blocks), &victims);
  drop_lock();
  unmap_victims(&victims);
  return bytes;
}

/* Takes the block out of the table before the kernel may hand its addresses to someone else; its bytes, 0 when the
 * table or the limit has no room. */
static size_t begin_resize_locked(const void *p, size_t bytes) {
  const struct slot *s = find_locked((uintptr_t)p);
  bool grows = s != NULL && bytes > s->bytes;
  if (s == NULL || !has_room_locked()) return 0; /* a move leaves a tombstone and takes a slot */
  s = find_locked((uintptr_t)p);
  if (grows && !claim_locked(bytes - s->bytes)) return 0;
  return erase_locked(p);
}

void *hak_big_resize(void *p, size_t n) {
  size_t bytes = hak_round_up(n, hak_os_page_bytes());
  take_lock();
  size_t old = begin_resize_locked(p, bytes);
  drop_lock();
  if (old == 0) return NULL;
  void *q = bytes == old ? p : hak_os_remap(p, old, bytes);
  take_lock();
  if (bytes > old) drop_claim_locked(bytes - old);
  enter_locked(q != NULL ? q : p, q != NULL ? bytes : old);
  drop_lock();
  return q;
}

size_t hak_big_trim(size_t keep) {
  struct victims victims;
  take_lock();
  evict_locked(keep, KEPT_MAX, &victims);
  drop_lock();
  return unmap_victims(&victims);
}

void hak_big_retry(void) {
  struct victims victims;
  take_lock();
  take_refused_locked(&victims);
  drop_lock();
  unmap_victims(&victims);
}

size_t hak_big_table_bytes(void) {
  take_lock();
  size_t bytes = g_big.table == &no_table ? 0 : table_bytes(g_big.table->capacity);
  drop_lock();
  return bytes;
}

struct hak_tally hak_big_tally(bool fade) {
  take_lock();
  if (fade) g_big.tally.ghosts /= 2;
  struct hak_tally tally = g_big.tally;
  drop_lock();
  return tally;
}

void hak_big_bytes_now(uint64_t *live, uint64_t *cached) {
  take_lock();
  *live = g_big.live_bytes;
  *cached = g_big.kept_bytes + g_big.empty_bytes;
  drop_lock();
}

uint64_t hak_big_live_blocks(void) {
  take_lock();
  uint64_t blocks = g_big.live_blocks;
  drop_lock();
  return blocks;
}
