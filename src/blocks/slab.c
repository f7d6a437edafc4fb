/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab.c: blocks of one class, free slots in an out-of-band bitmap.
 *
 * what      Partial slabs are listed in bins by the logarithm of their free slots. A fill takes the fullest slab first.
 *           See slab.h for the drawing.
 *
 *               bin 0: 1 free | bin 1: 2-3 | bin 2: 4-7 | ... | bin 12: all of 4,096
 *
 * owner     g_slab.
 * locks     A lock per class. After a takeover (os/lock.h) bins and counts are rebuilt from the bitmaps.
 * orders    A fill writes pointers to `out` before the bits are cleared; a put sets bits before the pointer is
 *           forgotten: a fork while another thread is inside can leak a block, never hand a block out twice.
 * not here  Empty pages inside slabs: slab_purge.c.
 */
#include "blocks/slab_chance.h"
#include "blocks/slab_internal.h"
#include "retain/huge.h"
#include "retain/rent.h"
#include "runs/runs.h"

enum { EMPTY_KEPT = 1 };

enum { NOTE_EACH = 4 }; /* slabs, of which one is noted: a sample is of so many times HAK_SLAB_SAMPLES */

/* Bounds of one fill: scattered free slots give fewer blocks, not a longer call. */
enum { FILL_STEPS = 64, WORD_STEPS = 1, SLAB_STEPS = 4 };

HAK_TABLE struct hak_slab_class *g_slab[HAK_CLASSES];
static struct {
  uint64_t units;                  /* of all classes; first, as tests/cuts reads it by the name */
  uint64_t begun[HAK_CLASS_WORDS]; /* a bit per class: it has a record, or a thread is making one */
} g_slabs;

static void link_slab(struct hak_slab_class *k, struct hak_unit *s) {
  unsigned b = hak_highest_bit(s->free);
  uint32_t u = hak_range_index(s);
  s->bin = (uint8_t)b;
  s->previous = HAK_NO_UNIT;
  s->next = k->first[b];
  if (s->next != HAK_NO_UNIT) hak_range_entry(s->next)->previous = u;
  k->first[b] = u;
  k->filled |= 1u << b;
}

static void unlink_slab(struct hak_slab_class *k, struct hak_unit *s) {
  if (s->bin == HAK_SLAB_NO_BIN) return;
  if (s->next != HAK_NO_UNIT) hak_range_entry(s->next)->previous = s->previous;
  if (s->previous != HAK_NO_UNIT) hak_range_entry(s->previous)->next = s->next;
  else k->first[s->bin] = s->next;
  if (k->first[s->bin] == HAK_NO_UNIT) k->filled &= ~(1u << s->bin);
  s->bin = HAK_SLAB_NO_BIN;
}

/* Makes the record of class c. NULL: no memory. */
static HAK_NOINLINE struct hak_slab_class *begin_class(unsigned c) {
  struct hak_slab_class *k = hak_meta_get(sizeof *k), *others = NULL;
  if (k == NULL) return NULL;
  *k = (struct hak_slab_class){.filled = 0};
  hak_set_bits(&g_slabs.begun[c / 64], (uint64_t)1 << c % 64);
  if (hak_cas_acq_rel(&g_slab[c], &others, k)) return k;
  hak_meta_put(k, sizeof *k);
  return others;
}

/* ---- opening and closing ---- */

/* Blocks of more than a page may be buffers of which only the start is ever used: slab_written.h. */
static bool may_be_buffers(unsigned c) { return g_class[c].bytes > hak_os_page_bytes(); }

/* Which of four: scattered by a hash, as a program may take turns. */
static unsigned turn_of(unsigned round) { return (uint32_t)(round * 0x9e3779b1u) >> 30; }

static void note_open_locked(struct hak_slab_class *k, const struct hak_unit *s, bool clean) {
  unsigned round = k->opens / NOTE_EACH;
  if (k->opens % NOTE_EACH == turn_of(round)) hak_store(&k->sample[round % HAK_SLAB_SAMPLES], hak_range_index(s));
  k->opens++;
  if (clean) hak_store(&k->grew, true);
  if (k->opens % (NOTE_EACH * HAK_SLAB_SAMPLES) == 0 && hak_load(&k->grew)) hak_store(&k->is_new, true);
}

/* hak_unit.words makes a run a slab (rebuild_class tests the field): stored last when a slab opens, cleared first when
 * a slab closes. */
static struct hak_unit *open_slab_locked(struct hak_slab_class *k, unsigned c, struct hak_opened *opened) {
  const struct hak_class *class = &g_class[c];
  bool clean = k->units == 0; /* a class's first slab may stay nearly empty: no dirty run for it */
  bool huge = !may_be_buffers(c) || hak_load(&k->is_written);
  uint64_t *bitmap;
  struct hak_unit *s = hak_slab_set_up(c, &clean, huge ? opened : NULL, &bitmap);
  if (s == NULL) return NULL;
  if (may_be_buffers(c)) note_open_locked(k, s, clean);
  if (clean) hak_slab_empty_pages(s, hak_slab_all_pages(class));
  if (HAK_SECURE) hak_chance_stir();
  s->purged_at = (uint16_t)(hak_rent_tick() - HAK_TICKS_PER_SECOND);
  hak_store(&s->swept, 0);
  hak_range_set_class(hak_range_index(s), class->units, c);
  hak_add(&g_slabs.units, class->units);
  hak_store_release(&s->words, bitmap);
  k->units += class->units;
  return s;
}

static void close_slab_locked(struct hak_slab_class *k, struct hak_unit *s) {
  const struct hak_class *class = &g_class[s->size_class];
  uint32_t u = hak_range_index(s);
  uint64_t *bitmap = s->words;
  hak_store(&s->words, NULL);
  __asm__ volatile("" ::: "memory");
  hak_range_set_class(u, class->units, 0);
  hak_slab_put_bitmap(s, bitmap, class);
  k->units -= class->units;
  if (k->units == 0) hak_store(&k->is_written, false);
  hak_sub(&g_slabs.units, class->units);
  bool clean = s->empty == hak_slab_all_pages(class);
  if (s->empty != 0) hak_slab_use_pages(s, s->empty);
  if (clean) hak_runs_put_clean(u);
  else hak_runs_put(u);
}

/* ---- repair ---- */

/* After a takeover of the lock in a fork's child: the bitmaps are the truth. */
static void rebuild_class(struct hak_slab_class *k, unsigned c) {
  const struct hak_class *class = &g_class[c];
  for (unsigned b = 0; b < HAK_SLAB_BINS; b++) k->first[b] = HAK_NO_UNIT;
  k->filled = k->empties = 0;
  k->handed_out = k->units = 0;
  for (size_t u = 1; (u = hak_range_pass(u)) < g_range.units; u++) {
    struct hak_unit *s = hak_range_entry((uint32_t)u);
    if (!hak_slab_is_of(s, c)) continue;
    hak_slab_use_pages(s, s->empty); /* a fill may have been cut short before `empty` was updated */
    hak_slab_recount(s, class);
    s->bin = HAK_SLAB_NO_BIN;
    if (!s->owned && s->free != 0) link_slab(k, s);
    k->empties += !s->owned && s->free == class->slots;
    k->handed_out += class->slots - s->free;
    k->units += class->units;
  }
}

void hak_slab_lock(struct hak_slab_class *k, unsigned c) {
  if (hak_lock_take(&k->lock)) rebuild_class(k, c);
}

/* ---- fill ---- */

static struct hak_unit *take_partial_locked(struct hak_slab_class *k) {
  if (k->filled == 0) return NULL;
  uint32_t u = k->first[hak_lowest_bit(k->filled)];
  struct hak_unit *s = hak_range_entry(HAK_SECURE ? hak_slab_any_of(u) : u);
  unlink_slab(k, s);
  if (s->free == g_class[s->size_class].slots) k->empties--;
  return s;
}

static struct hak_unit *own_slab_locked(struct hak_slab_class *k, unsigned c, struct hak_opened *opened) {
  struct hak_unit *s = take_partial_locked(k);
  if (s == NULL) s = open_slab_locked(k, c, opened);
  if (s != NULL) s->owned = 1;
  return s;
}

/* True if the set bits follow one another. */
static bool are_neighbours(uint64_t bits) { return ((bits + (bits & (0 - bits))) & bits) == 0; }

/* Moves up to `want` free slots of a word, the neighbours *bits, to out[-1], out[-2] ...; returns the number. */
static size_t take_neighbours(uint64_t *bits, char *slots, size_t bytes, void **out, size_t want) {
  unsigned first = hak_lowest_bit(*bits), length = hak_highest_bit(*bits) - first + 1;
  size_t n = hak_min(length, want);
  char *block = slots + first * bytes;
  for (void **last = out - n; out != last; block += bytes) *--out = block;
  *bits = n == length ? 0 : *bits >> (first + n) << (first + n);
  return n;
}

/* The same where the bits have gaps. A step per gap would be a branch that is often mispredicted. */
static size_t take_scattered(uint64_t *bits, char *slots, size_t bytes, void **out, size_t want) {
  void **const end = out, **const last = out - want;
  for (; *bits != 0 && out != last; *bits &= *bits - 1) *--out = slots + hak_lowest_bit(*bits) * bytes;
  return (size_t)(end - out);
}

/* Moves up to `want` free slots of one word to out[-1], out[-2] ...; returns the number. */
static size_t take_word_slots(struct hak_unit *s, unsigned w, char *slots, size_t bytes, void **out, size_t want) {
  uint64_t bits = s->words[w];
  slots += (size_t)w * 64 * bytes;
  size_t n = are_neighbours(bits) ? take_neighbours(&bits, slots, bytes, out, want)
                                  : take_scattered(&bits, slots, bytes, out, want);
  hak_store_release(&s->words[w], bits);
  if (bits == 0) s->summary &= s->summary - 1;
  return n;
}

/* Moves up to `want` free slots of a random word, or of the lowest, to out[-1], out[-2] ...; returns the number. */
HAK_INLINE size_t take_some_slots(struct hak_unit *s, char *slots, size_t bytes, void **out, size_t want) {
  if (!HAK_SECURE) return take_word_slots(s, hak_lowest_bit(s->summary), slots, bytes, out, want);
  return hak_slab_take_turned(s, hak_slab_any_word(s, &g_class[s->size_class]), bytes, out, want);
}

/* Moves up to `want` free slots to out[-1], out[-2] ... while steps remain; returns the number. */
static size_t take_slots(struct hak_unit *s, void **out, size_t want, int *steps) {
  hak_store(&s->swept, 0); /* `free` may come to equal the count at the last sweep, but with different pages free */
  char *slots = hak_range_address(hak_range_index(s));
  size_t bytes = g_class[s->size_class].bytes, n = 0;
  for (; n < want && s->summary != 0 && *steps > 0; *steps -= WORD_STEPS) {
    n += take_some_slots(s, slots, bytes, out - n, want - n);
  }
  hak_store(&s->free, (uint16_t)(s->free - n));
  hak_store(&s->filler, hak_slab_filler());
  hak_store(&s->filled, hak_rent_tick());
  if (HAK_UNLIKELY(s->empty != 0) && n != 0) hak_slab_touch(s, out - n, n);
  return n;
}

/* Ends with a slab that opens a region: its blocks wait for the region's first touch. */
static size_t fill_locked(struct hak_slab_class *k, unsigned c, uint32_t *current, void **end, size_t want,
                          struct hak_opened *opened) {
  size_t n = 0;
  for (int steps = FILL_STEPS; n < want && steps > 0 && opened->units == 0; steps -= SLAB_STEPS) {
    struct hak_unit *s = *current != HAK_NO_UNIT ? hak_range_entry(*current) : own_slab_locked(k, c, opened);
    if (s == NULL) break;
    *current = hak_range_index(s);
    n += take_slots(s, end - n, want - n, &steps);
    if (s->free == 0) {
      hak_store(current, HAK_NO_UNIT); /* first: the repair after a fork takes the slab that a context names as owned */
      hak_store_release(&s->owned, 0);
    }
  }
  return n;
}

/* The slab in front of the region's rest was opened by this fill, and all blocks taken from it are still the fill's. */
static HAK_NOINLINE void fetch_region(struct hak_slab_class *k, unsigned c, const struct hak_opened *opened) {
  if (!hak_runs_fetch_opened(opened)) return;
  struct hak_unit *s = hak_range_entry(opened->rest - g_class[c].units);
  hak_slab_lock(k, c);
  hak_slab_use_pages(s, s->empty); /* its pages came with the region's */
  hak_lock_drop(&k->lock);
}

/* No lock held. Two threads may do the same. */
static HAK_NOINLINE void look_at_sample(struct hak_slab_class *k, unsigned c) {
  hak_store(&k->is_new, false);
  hak_store(&k->grew, false);
  if (hak_huge_fit() && hak_huge_pays(false)) hak_store(&k->is_written, hak_slab_is_written(c, k->sample));
}

size_t hak_slab_fill(unsigned c, uint32_t *current, void **out, size_t want) {
  struct hak_slab_class *k = hak_slab_of(c);
  struct hak_opened opened = {.units = 0};
  if (HAK_UNLIKELY(k == NULL) && (k = begin_class(c)) == NULL) return 0;
  if (HAK_UNLIKELY(hak_load(&k->is_new))) look_at_sample(k, c);
  hak_slab_lock(k, c);
  size_t n = fill_locked(k, c, current, out + want, want, &opened);
  hak_store(&k->handed_out, k->handed_out + n);
  hak_lock_drop(&k->lock);
  if (HAK_UNLIKELY(opened.units != 0)) fetch_region(k, c, &opened);
  if (n != 0 && n < want) __builtin_memmove(out, out + (want - n), n * sizeof *out);
  if (HAK_SECURE) hak_chance_shuffle(out, n, hak_slab_group(c, n));
  return n;
}

/* ---- put ---- */

/* The count of free slots reached a new bin, or all slots are free: moves the slab, or closes an empty slab beyond the
 * EMPTY_KEPT of the class. */
static HAK_NOINLINE void move_slab_locked(struct hak_slab_class *k, struct hak_unit *s) {
  bool empty = s->free == g_class[s->size_class].slots;
  unlink_slab(k, s);
  if (empty && k->empties >= EMPTY_KEPT) {
    close_slab_locked(k, s);
    return;
  }
  k->empties += empty;
  link_slab(k, s);
}

void hak_slab_hide_slots_locked(struct hak_slab_class *k, struct hak_unit *s, uint32_t n) {
  bool listed = s->bin != HAK_SLAB_NO_BIN;
  if (listed && s->free == g_class[s->size_class].slots) k->empties--;
  unlink_slab(k, s);
  hak_store(&s->free, (uint16_t)(s->free - n));
  hak_store(&k->handed_out, k->handed_out + n);
  if (listed && s->free != 0) link_slab(k, s);
}

void hak_slab_unhide_slots_locked(struct hak_slab_class *k, struct hak_unit *s, uint32_t n) {
  hak_store(&s->free, (uint16_t)(s->free + n));
  hak_store(&k->handed_out, k->handed_out - n);
  if (!s->owned && n != 0) move_slab_locked(k, s);
}

/* True if the count of free slots reached a new bin (the highest bits differ), or if the slab is empty. */
HAK_INLINE bool changes_bin(uint32_t before, uint32_t after, uint32_t slots) {
  return (before ^ after) > (before & after) || after == slots;
}

/* n slots more are free. */
HAK_INLINE void count_free_locked(struct hak_slab_class *k, uint32_t slots, struct hak_unit *s, size_t n) {
  uint32_t before = s->free, after = before + (uint32_t)n;
  hak_store(&s->free, (uint16_t)after);
  if (!s->owned && changes_bin(before, after, slots)) move_slab_locked(k, s);
}

/* The slab of p, a pointer from a magazine of class c. NULL: p lies in no slab of the class. */
HAK_INLINE struct hak_unit *slab_under(unsigned c, const void *p) {
  size_t u = ((uintptr_t)p - g_range.base) >> HAK_UNIT_SHIFT;
  if (HAK_UNLIKELY(hak_load(&g_range.map[u]) != c)) return NULL;
  return hak_range_entry(g_range.unit[u].head);
}

/* A list of blocks of a class. Blocks that follow one another mostly share a slab, and a word of its bitmap. */
struct list {
  void *const *next, *const *end;
  uintptr_t limit; /* address in the list from which on no word is entered; comes nearer with each word and slab */
  struct hak_unit *slab;
  uintptr_t start; /* address of the slab */
  struct hak_class class;
  unsigned twos;   /* trailing zeros of class.bytes */
};

static inline struct list begin_list(unsigned c, void *const *blocks, size_t n) {
  unsigned twos = hak_lowest_bit(g_class[c].bytes);
  return (struct list){.next = blocks, .end = blocks + n, .class = g_class[c], .twos = twos};
}

/* Goes to the slab of the next block. False: the block lies in no slab of class c. */
HAK_INLINE bool enter_slab(struct list *list, unsigned c) {
  list->slab = slab_under(c, *list->next);
  if (HAK_UNLIKELY(list->slab == NULL)) return false;
  list->start = (uintptr_t)hak_range_address(hak_range_index(list->slab));
  return true;
}

#define NO_SLOT SIZE_MAX

/* The slot of the next block. NO_SLOT: the list ends, or the block lies in another slab or begins at no slot. */
HAK_INLINE size_t next_slot(const struct list *list) {
  if (list->next == list->end) return NO_SLOT;
  uint64_t slot = hak_class_slot(list->class.inverse, list->twos, (uintptr_t)*list->next - list->start);
  return slot < list->class.slots ? slot : NO_SLOT;
}

/* Neighbours, ascending or descending, within a word of the bitmap. */
struct row {
  size_t n;
  uint64_t bits;
};
enum { ROW_LEAST = 8 }; /* of fewer neighbours each block is looked at */

/* The row of at most n neighbours that begins with blocks[0], in `slot`, from block to block `step` [bytes] apart. */
static HAK_NOINLINE struct row measure_row(void *const *blocks, size_t n, uintptr_t step, size_t slot) {
  size_t length = 1, bit = slot % 64;
  for (uintptr_t next = (uintptr_t)blocks[0] + step; length < n && (uintptr_t)blocks[length] == next; length++) {
    next += step;
  }
  if ((intptr_t)step < 0) bit -= length - 1;
  return (struct row){length, ~(uint64_t)0 >> (64 - length) << bit};
}

/* True if the first blocks of a list are ROW_LEAST neighbours. */
static bool begins_a_row(void *const *blocks, size_t bytes) {
  size_t distance = (uintptr_t)blocks[ROW_LEAST - 1] - (uintptr_t)blocks[0], row = (ROW_LEAST - 1) * bytes;
  return distance == row || distance + row == 0;
}

bool hak_slab_are_rows(unsigned c, void *const *blocks, size_t n) {
  enum { SAMPLES = 4 };
  unsigned rows = 0;
  for (size_t i = 0; i < SAMPLES; i++) rows += begins_a_row(blocks + i * (n / SAMPLES), g_class[c].bytes);
  return rows >= SAMPLES / 2;
}

/* The row that begins with the next block, in `slot`. No blocks: it is short. */
HAK_INLINE struct row row_from(const struct list *list, size_t slot) {
  size_t step = list->class.bytes, n = (size_t)(list->end - list->next);
  if (n < ROW_LEAST || !begins_a_row(list->next, step)) return (struct row){0, 0};
  bool up = list->next[1] > list->next[0];
  size_t reach = up ? hak_min(64 - slot % 64, list->class.slots - slot) : slot % 64 + 1;
  return measure_row(list->next, hak_min(n, reach), up ? step : (uintptr_t)0 - step, slot);
}

/* Adds the next blocks to `bits`, the word of *slot, the next block's: a row, or all that lie in the word up to a block
 * that is free. Returns the word; *slot: of the block behind. */
HAK_INLINE uint64_t add_to_word(uint64_t bits, struct list *list, size_t *slot) {
  size_t word = *slot / 64;
  struct row row = row_from(list, *slot);
  if (row.n != 0 && !(bits & row.bits)) {
    list->next += row.n;
    *slot = next_slot(list);
    return bits | row.bits;
  }
  do {
    uint64_t bit = (uint64_t)1 << *slot % 64;
    if (HAK_UNLIKELY(bits & bit)) return *slot = NO_SLOT, bits;
    bits |= bit;
    list->next++;
    *slot = next_slot(list);
  } while (*slot / 64 == word);
  return bits;
}

/* True if the block behind the next lies in another unit: mostly another slab. */
HAK_INLINE bool is_single(const struct list *list) {
  void *const *next = list->next;
  return next + 1 < list->end && ((uintptr_t)next[0] ^ (uintptr_t)next[1]) >> HAK_UNIT_SHIFT != 0;
}

/* As put_in_slab, but for the next block alone, in half of the instructions. */
HAK_INLINE size_t put_single(struct list *list) {
  struct hak_unit *s = list->slab;
  size_t slot = next_slot(list);
  if (slot == NO_SLOT) return 0;
  uint64_t bits = s->words[slot / 64], bit = (uint64_t)1 << slot % 64;
  if (HAK_UNLIKELY(bits & bit)) return 0;
  hak_store(&s->words[slot / 64], bits | bit);
  s->summary |= (uint64_t)1 << slot / 64;
  list->next++;
  return 1;
}

/* Puts the next blocks as long as they lie in the slab; returns their number. 0: the next block is wrong. */
HAK_INLINE size_t put_in_slab(struct list *list) {
  struct hak_unit *s = list->slab;
  void *const *first = list->next;
  for (size_t slot = next_slot(list); slot != NO_SLOT && (uintptr_t)list->next < list->limit;) {
    size_t word = slot / 64;
    uint64_t bits = add_to_word(hak_load(&s->words[word]), list, &slot);
    if (list->next == first) return 0;
    hak_store(&s->words[word], bits);
    s->summary |= (uint64_t)1 << word;
    list->limit -= sizeof *list->next;
  }
  return (size_t)(list->next - first);
}

/* The error of p, which is no handed-out block of class c. */
static HAK_NOINLINE struct hak_fault fault_at(unsigned c, void *p) {
  struct list list = begin_list(c, &p, 1);
  if (!enter_slab(&list, c)) return (struct hak_fault){HAK_ERROR_released, p};
  return (struct hak_fault){next_slot(&list) == NO_SLOT ? HAK_ERROR_interior : HAK_ERROR_double_free, p};
}

enum { ENTRY_STEPS = 3 }; /* of a slab, beside those of its words and blocks */

size_t hak_slab_put(unsigned c, void *const *blocks, size_t n, size_t steps, struct hak_fault *fault) {
  struct hak_slab_class *k = hak_slab_of(c);
  struct list list = begin_list(c, blocks, n);
  size_t wrong = 0;
  list.limit = (uintptr_t)blocks + steps * sizeof *blocks;
  if (HAK_UNLIKELY(k == NULL)) return 0; /* no block is of this class */
  hak_slab_lock(k, c);
  for (size_t put; list.next != list.end && (uintptr_t)list.next < list.limit;) {
    put = !enter_slab(&list, c) ? 0 : is_single(&list) ? put_single(&list) : put_in_slab(&list);
    if (HAK_LIKELY(put != 0)) count_free_locked(k, list.class.slots, list.slab, put);
    else if (list.next++, wrong++ == 0) *fault = fault_at(c, list.next[-1]);
    list.limit -= ENTRY_STEPS * sizeof *blocks;
  }
  size_t done = (size_t)(list.next - blocks);
  hak_store(&k->handed_out, k->handed_out - (done - wrong));
  hak_lock_drop(&k->lock);
  return done;
}

/* Goes past the next block, or the row that begins with it, if handed out. False: the next block is not. */
HAK_INLINE bool pass_handed_out(struct list *list) {
  const uint64_t *words = hak_load(&list->slab->words); /* NULL: closed since, by double frees */
  size_t slot = next_slot(list);
  if (slot == NO_SLOT || words == NULL) return false;
  uint64_t free = hak_load(&words[slot / 64]);
  struct row row = row_from(list, slot);
  if (row.n == 0 || (free & row.bits)) row = (struct row){1, (uint64_t)1 << slot % 64};
  if (free & row.bits) return false;
  list->next += row.n;
  return true;
}

/* Enters the slab of each block anew: a branch for another block of the same slab is often mispredicted. */
void hak_slab_check(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault) {
  struct list list = begin_list(c, blocks, n);
  while (list.next != list.end) {
    if (HAK_UNLIKELY(!enter_slab(&list, c) || !pass_handed_out(&list))) *fault = fault_at(c, *list.next++);
  }
}

void hak_slab_die(const struct hak_fault *fault, const void *caller) {
  hak_die(fault->error, fault->p, g_class[hak_range_class(fault->p)].bytes, caller);
}

/* ---- release, trim, sums ---- */

static void disown_locked(struct hak_slab_class *k, struct hak_unit *s) {
  const struct hak_class *class = &g_class[s->size_class];
  s->owned = 0;
  if (s->free == 0) return;
  if (s->free == class->slots && k->empties >= EMPTY_KEPT) {
    close_slab_locked(k, s);
    return;
  }
  k->empties += s->free == class->slots;
  link_slab(k, s);
}

void hak_slab_release(unsigned c, uint32_t *current) {
  if (*current == HAK_NO_UNIT) return;
  struct hak_slab_class *k = hak_slab_of(c);
  struct hak_unit *s = hak_range_entry(*current);
  hak_slab_lock(k, c);
  hak_store(current, HAK_NO_UNIT);
  __asm__ volatile("" ::: "memory");
  if (s->owned) disown_locked(k, s);
  hak_lock_drop(&k->lock);
}

static void trim_class(unsigned c) {
  struct hak_slab_class *k = hak_slab_of(c);
  if (k == NULL) return;
  hak_slab_lock(k, c);
  for (unsigned b = HAK_SLAB_BINS; b-- > 0 && k->empties != 0;) {
    for (uint32_t u = k->first[b], next; u != HAK_NO_UNIT; u = next) {
      struct hak_unit *s = hak_range_entry(u);
      next = s->next;
      if (s->free != g_class[c].slots) continue;
      unlink_slab(k, s);
      close_slab_locked(k, s);
      k->empties--;
    }
  }
  hak_lock_drop(&k->lock);
}

void hak_slab_trim(void) {
  for (unsigned c = 1; c < HAK_CLASSES; c++) trim_class(c);
}

uint64_t hak_slab_bytes(void) { return hak_load(&g_slabs.units) << HAK_UNIT_SHIFT; }

/* grown: adds growth since the last call with it. */
HAK_INLINE struct hak_slab_handed_out sum_classes(bool grown) {
  struct hak_slab_handed_out all = {0, 0, 0};
  for (unsigned w = 0; w < HAK_CLASS_WORDS; w++) {
    for (uint64_t left = hak_load(&g_slabs.begun[w]); left != 0; left &= left - 1) {
      unsigned c = w * 64 + hak_lowest_bit(left);
      struct hak_slab_class *k = hak_slab_of(c);
      if (k == NULL) continue; /* a thread is making the record */
      uint64_t out = hak_load(&k->handed_out);
      all.blocks += out;
      all.bytes += out * g_class[c].bytes;
      if (!grown) continue;
      all.grown += hak_less(out, k->seen_out) * g_class[c].bytes;
      k->seen_out = out;
    }
  }
  return all;
}

struct hak_slab_handed_out hak_slab_handed_out_all(void) { return sum_classes(false); }
struct hak_slab_handed_out hak_slab_handed_out_grown(void) { return sum_classes(true); }

uint64_t hak_slab_handed_out(unsigned c, uint64_t *units) {
  struct hak_slab_class *k = hak_slab_of(c);
  *units = 0;
  if (k == NULL) return 0;
  hak_slab_lock(k, c);
  uint64_t out = k->handed_out;
  *units = k->units;
  hak_lock_drop(&k->lock);
  return out;
}
