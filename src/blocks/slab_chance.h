/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_chance.h: random choice of slots, slabs and order, in the secure flavour.
 *
 * what      A fill takes its slots from a random word of the bitmap, from a random slot of the word on, and hands them
 *           out in a random order, short blocks within groups of eight. A word's 64 slots lie on one to 64 pages, of
 *           which a fill touches as few as without chance.
 * locks     The class lock.
 * hot path  No. Called where HAK_SECURE is 1 only.
 */
#ifndef HAK_BLOCKS_SLAB_CHANCE_H
#define HAK_BLOCKS_SLAB_CHANCE_H

#include "blocks/slab_internal.h"
#include "os/chance.h"

/* Moves up to `want` free slots of the word w to out[-1], out[-2] ..., from a random slot on; returns the number. */
static inline size_t hak_slab_take_turned(struct hak_unit *s, unsigned w, size_t bytes, void **out, size_t want) {
  unsigned turn = (unsigned)hak_chance() & 63;
  char *slots = (char *)hak_range_address(hak_range_index(s)) + (size_t)w * 64 * bytes;
  uint64_t bits = hak_rotate_right(s->words[w], turn);
  size_t n = 0;
  for (; bits != 0 && n < want; bits &= bits - 1, n++) {
    *--out = slots + ((hak_lowest_bit(bits) + turn) & 63) * bytes;
  }
  hak_store_release(&s->words[w], hak_rotate_right(bits, -turn & 63));
  if (bits == 0) s->summary &= ~((uint64_t)1 << w);
  return n;
}

/* A random word of the bitmap with a free slot: the next from a random one on. s->summary != 0. */
static inline unsigned hak_slab_any_word(const struct hak_unit *s, const struct hak_class *class) {
  unsigned from = hak_chance_below((class->slots + 63) / 64);
  uint64_t behind = s->summary >> from << from;
  return hak_lowest_bit(behind != 0 ? behind : s->summary);
}

/* How many of n blocks of a fill change places: of short ones eight, which lie on as few lines of cache. A program that
 * walks its blocks in the order of their birth still goes from line to line. */
static inline size_t hak_slab_group(unsigned c, size_t n) {
  enum { SHORT = 512, GROUP = 8 };
  return g_class[c].bytes <= SHORT ? GROUP : hak_max(n, 1);
}

/* One of the first few slabs of a list, at random. first: a unit. */
static inline uint32_t hak_slab_any_of(uint32_t first) {
  enum { LOOKS = 4 };
  uint32_t at = first;
  for (uint32_t n = hak_chance_below(LOOKS); n > 0 && hak_range_entry(at)->next != HAK_NO_UNIT; n--) {
    at = hak_range_entry(at)->next;
  }
  return at;
}

#endif
