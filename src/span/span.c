/* span.c: runs of units.
 *
 * what      Bins of free runs by length, eight to a doubling; get, split, coalesce, purge. See span.h.
 * owner     g_span.
 * locks     g_span.lock. A vanished holder: the bins are rebuilt from the unit table.
 * orders    See span.h.
 * hot path  No.
 * failure   HAK_NO_UNIT.
 * not here  Ageing.
 */
#include "span/span.h"

#include "os/die.h"
#include "os/lock.h"
#include "os/os.h"

enum { BINS = 256, WORDS = BINS / 64, EXACT = 16 };

struct bins {
  uint64_t filled[WORDS];
  uint32_t first[BINS];
  uint64_t units;
};

static struct {
  struct hak_lock lock;
  struct bins dirty, clean;
} g_span;

/* The bin a run of this length belongs to. */
static unsigned bin_of_length(size_t units) {
  if (units < EXACT) return (unsigned)units;
  unsigned high = hak_highest_bit(units);
  return EXACT + (high - 4) * 8 + ((unsigned)(units >> (high - 3)) & 7);
}

/* The lowest bin in which every run has at least this length. */
static unsigned bin_that_fits(size_t units) {
  if (units < EXACT) return (unsigned)units;
  return bin_of_length(units + ((size_t)1 << (hak_highest_bit(units) - 3)) - 1);
}

static struct bins *bins_of(enum hak_unit_kind kind) {
  return kind == HAK_UNIT_DIRTY ? &g_span.dirty : &g_span.clean;
}

static bool is_free(const struct hak_unit *e) { return e->kind == HAK_UNIT_CLEAN || e->kind == HAK_UNIT_DIRTY; }

static void link_run(uint32_t first) {
  struct hak_unit *e = hak_range_entry(first);
  struct bins *bins = bins_of(e->kind);
  unsigned b = bin_of_length(e->length);
  e->previous = HAK_NO_UNIT;
  e->next = bins->first[b];
  if (e->next != HAK_NO_UNIT) hak_range_entry(e->next)->previous = first;
  bins->first[b] = first;
  bins->filled[b / 64] |= (uint64_t)1 << b % 64;
  bins->units += e->length;
}

/* A neighbour that does not point back: something wrote over the table. */
static void check_links(uint32_t first, uint32_t list) {
  const struct hak_unit *e = hak_range_entry(first);
  bool ahead = e->next == HAK_NO_UNIT || (e->next < g_range.units && hak_range_entry(e->next)->previous == first);
  bool behind = e->previous == HAK_NO_UNIT
                    ? list == first
                    : e->previous < g_range.units && hak_range_entry(e->previous)->next == first;
  if (HAK_UNLIKELY(!ahead || !behind)) hak_die(HAK_ERROR_torn, hak_range_address(first), 0, NULL);
}

static void unlink_run(uint32_t first) {
  struct hak_unit *e = hak_range_entry(first);
  struct bins *bins = bins_of(e->kind);
  unsigned b = bin_of_length(e->length);
  check_links(first, bins->first[b]);
  if (e->next != HAK_NO_UNIT) hak_range_entry(e->next)->previous = e->previous;
  if (e->previous != HAK_NO_UNIT) hak_range_entry(e->previous)->next = e->next;
  else bins->first[b] = e->next;
  if (bins->first[b] == HAK_NO_UNIT) bins->filled[b / 64] &= ~((uint64_t)1 << b % 64);
  bins->units -= e->length;
}

/* Writes a free run's facts, the first unit's last, and puts it into its bin. */
static void make_free(uint32_t first, size_t units, enum hak_unit_kind kind) {
  struct hak_unit *last = hak_range_entry(first + (uint32_t)units - 1);
  struct hak_unit *e = hak_range_entry(first);
  hak_store(&last->head, first);
  hak_store(&last->kind, (uint8_t)kind);
  hak_store(&e->head, first);
  hak_store_release(&e->length, (uint32_t)units);
  hak_store_release(&e->kind, (uint8_t)kind);
  link_run(first);
}

/* Marks [first, first + units) as in use. */
static void make_used(uint32_t first, size_t units, enum hak_unit_kind kind, unsigned c) {
  struct hak_unit *e = hak_range_entry(first);
  for (size_t i = 1; i < units; i++) {
    hak_store(&e[i].head, first);
    hak_store(&e[i].kind, HAK_UNIT_REST);
  }
  hak_store(&e->head, first);
  e->size_class = (uint8_t)c;
  hak_store_release(&e->length, (uint32_t)units);
  hak_store_release(&e->kind, (uint8_t)kind);
}

/* Frees [first, first + units), merging with neighbours of the same sort. Its first unit may come to lie inside a
 * run: it must not go on looking like a block's. */
static void merge_free(uint32_t first, size_t units, enum hak_unit_kind kind) {
  struct hak_unit *before = hak_range_entry(first - 1);
  hak_store(&hak_range_entry(first)->kind, HAK_UNIT_REST);
  if (before->kind == kind) {
    first = before->head;
    unlink_run(first);
    units += hak_range_entry(first)->length;
  }
  uint32_t after = first + (uint32_t)units;
  if (after < g_range.units && hak_range_entry(after)->kind == kind) {
    unlink_run(after);
    units += hak_range_entry(after)->length;
  }
  make_free(first, units, kind);
}

/* A forked child found the lock held by a thread that is gone: the unit table is the truth. A unit that looks free but
 * heads no run is the last one of a run whose first was not written yet: it leaks, and must not be merged with. */
static void rebuild(void) {
  g_span.dirty = g_span.clean = (struct bins){0};
  for (size_t u = 1; u < g_range.units;) {
    struct hak_unit *e = hak_range_entry((uint32_t)u);
    bool counts = e->kind != HAK_UNIT_HOLE && e->kind != HAK_UNIT_REST && e->head == u && e->length != 0;
    if (is_free(e) && counts) make_free((uint32_t)u, e->length, e->kind);
    if (is_free(e) && !counts) hak_store(&e->kind, HAK_UNIT_REST);
    u += counts ? e->length : 1;
  }
}

static void take_lock(void) {
  if (hak_lock_take(&g_span.lock)) rebuild();
}

static uint32_t first_fit(const struct bins *bins, size_t units) {
  unsigned b = bin_that_fits(units);
  uint64_t left = b < BINS ? bins->filled[b / 64] & ~(uint64_t)0 << b % 64 : 0;
  for (unsigned w = b / 64; w < WORDS; left = ++w < WORDS ? bins->filled[w] : 0) {
    if (left != 0) return bins->first[w * 64 + hak_lowest_bit(left)];
  }
  return HAK_NO_UNIT;
}

static uint32_t find_locked(size_t units) {
  uint32_t first = first_fit(&g_span.dirty, units);
  if (first == HAK_NO_UNIT) first = first_fit(&g_span.clean, units);
  if (first != HAK_NO_UNIT) return first;
  size_t count;
  if (!hak_range_grow(units, &first, &count)) return HAK_NO_UNIT;
  merge_free(first, count, HAK_UNIT_CLEAN);
  return hak_range_entry(first + (uint32_t)count - 1)->head; /* it may have merged with the run before */
}

/* Cuts [at, at + units) out of the free run that begins at `first`; what is left stays free. */
static void cut_locked(uint32_t first, uint32_t at, size_t units, enum hak_unit_kind kind, unsigned c) {
  struct hak_unit *e = hak_range_entry(first);
  enum hak_unit_kind sort = e->kind;
  size_t front = at - first, back = e->length - front - units;
  unlink_run(first);
  if (back != 0) make_free(at + (uint32_t)units, back, sort);
  make_used(at, units, kind, c);
  if (front != 0) make_free(first, front, sort);
}

uint32_t hak_span_get(size_t units, size_t align, enum hak_unit_kind kind, unsigned c, bool *clean) {
  if (units > UINT32_MAX / 2 || align > UINT32_MAX / 2) return HAK_NO_UNIT;
  take_lock();
  uint32_t at = HAK_NO_UNIT;
  uint32_t first = find_locked(units + align - 1);
  if (first != HAK_NO_UNIT) {
    uintptr_t bytes = align << HAK_UNIT_SHIFT;
    at = (uint32_t)hak_range_unit_of((void *)hak_round_up((uintptr_t)hak_range_address(first), bytes));
    *clean = hak_range_entry(first)->kind == HAK_UNIT_CLEAN;
    cut_locked(first, at, units, kind, c);
  }
  hak_lock_drop(&g_span.lock);
  return at;
}

void hak_span_put(uint32_t first) {
  take_lock();
  merge_free(first, hak_range_entry(first)->length, HAK_UNIT_DIRTY);
  hak_lock_drop(&g_span.lock);
}

bool hak_span_extend(uint32_t first, size_t more) {
  take_lock();
  struct hak_unit *e = hak_range_entry(first);
  uint32_t after = first + e->length;
  bool ok = after < g_range.units && is_free(hak_range_entry(after)) && hak_range_entry(after)->length >= more;
  if (ok) {
    cut_locked(after, after, more, HAK_UNIT_REST, 0);
    make_used(first, e->length + more, e->kind, e->size_class);
  }
  hak_lock_drop(&g_span.lock);
  return ok;
}

void hak_span_shorten(uint32_t first, size_t units) {
  take_lock();
  struct hak_unit *e = hak_range_entry(first);
  size_t rest = e->length - units;
  if (rest != 0) {
    hak_store_release(&e->length, (uint32_t)units);
    merge_free(first + (uint32_t)units, rest, HAK_UNIT_DIRTY);
  }
  hak_lock_drop(&g_span.lock);
}

/* Takes some dirty run out of its bin, so that it can be purged without the lock. */
static uint32_t take_dirty(size_t keep) {
  take_lock();
  uint32_t first = g_span.dirty.units << HAK_UNIT_SHIFT > keep ? first_fit(&g_span.dirty, 1) : HAK_NO_UNIT;
  if (first != HAK_NO_UNIT) cut_locked(first, first, hak_range_entry(first)->length, HAK_UNIT_REST, 0);
  hak_lock_drop(&g_span.lock);
  return first;
}

static size_t purge_run(uint32_t first) {
  size_t units = hak_range_entry(first)->length;
  bool ok = hak_os_purge(hak_range_address(first), units << HAK_UNIT_SHIFT);
  take_lock();
  merge_free(first, units, ok ? HAK_UNIT_CLEAN : HAK_UNIT_DIRTY);
  hak_lock_drop(&g_span.lock);
  return ok ? units << HAK_UNIT_SHIFT : 0;
}

size_t hak_span_purge(size_t keep) {
  size_t purged = 0;
  for (;;) {
    uint32_t first = take_dirty(keep);
    size_t bytes = first == HAK_NO_UNIT ? 0 : purge_run(first);
    if (bytes == 0) return purged;
    purged += bytes;
  }
}

void hak_span_bytes(uint64_t *dirty, uint64_t *clean) {
  take_lock();
  *dirty = g_span.dirty.units << HAK_UNIT_SHIFT;
  *clean = g_span.clean.units << HAK_UNIT_SHIFT;
  hak_lock_drop(&g_span.lock);
}
