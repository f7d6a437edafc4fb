/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_internal.c: blocks/slab.c, slab_written.c and slab_purge.c with their internals exposed.
 *
 * what      See internal.h. The predicate counts every bitmap, walks every list, and compares the results.
 * owner     g_slab, as in the module.
 * failure   See internal.h.
 * not here  Tests.
 */
#include "blocks/slab.c"
#include "blocks/slab_purge.c"
#include "blocks/slab_written.c"

#include <string.h>

#include "internal.h"

struct hak_lock *hak_inside_slab_lock(unsigned c) {
  if (g_slab[c] == NULL) begin_class(c);
  return &g_slab[c]->lock;
}
unsigned hak_inside_slab_empties(unsigned c) { return g_slab[c] != NULL ? g_slab[c]->empties : 0; }

static bool is_slab_of(const struct hak_unit *s, unsigned c) {
  return s->kind == HAK_UNIT_SLAB && s->size_class == c && s->words != NULL;
}

void hak_inside_slab_damage(unsigned c) {
  struct hak_lock lock = g_slab[c]->lock;
  memset(g_slab[c], 0x5a, sizeof *g_slab[c]);
  g_slab[c]->lock = lock;
  for (uint32_t u = 1; u < g_range.units; u++) {
    struct hak_unit *s = hak_range_entry(u);
    if (!is_slab_of(s, c)) continue;
    s->next = s->previous = s->free = 12345;
    s->summary = 0x5555;
    s->bin = 3;
  }
}

static size_t words_of(unsigned c) { return (g_class[c].slots + 63) / 64; }

static bool is_on_empty_page(const struct hak_unit *s, unsigned c, size_t slot) {
  size_t first = slot * g_class[c].bytes / hak_os_page_bytes();
  size_t last = ((slot + 1) * g_class[c].bytes - 1) / hak_os_page_bytes();
  for (size_t page = first; page <= last; page++) {
    if (s->empty >> page & 1) return true;
  }
  return false;
}

static bool any_block_on_empty_page(const struct hak_unit *s, unsigned c) {
  if (s->empty == 0) return false;
  for (size_t slot = 0; slot < g_class[c].slots; slot++) {
    bool out = !(s->words[slot / 64] >> slot % 64 & 1);
    if (out && is_on_empty_page(s, c, slot)) return true;
  }
  return false;
}

static const char *bitmap_wrong(const struct hak_unit *s, unsigned c) {
  uint32_t free = 0;
  uint64_t summary = 0;
  for (size_t w = 0; w < words_of(c); w++) {
    free += (uint32_t)__builtin_popcountll(s->words[w]);
    summary |= (uint64_t)(s->words[w] != 0) << w;
  }
  if (g_class[c].slots % 64 != 0 && s->words[words_of(c) - 1] >> g_class[c].slots % 64 != 0) return "a bit of no slot";
  if (any_block_on_empty_page(s, c)) return "a page that counts as empty holds a block";
  if (free != s->free) return "a slab's free slots are miscounted";
  return summary == s->summary ? NULL : "a slab's summary is wrong";
}

/* The list a slab should be on; HAK_SLAB_NO_BIN when on none. */
static unsigned right_bin(const struct hak_unit *s) {
  return s->owned || s->free == 0 ? HAK_SLAB_NO_BIN : hak_highest_bit(s->free);
}

static const char *list_wrong(const struct hak_slab_class *k, unsigned b, unsigned c, size_t *listed) {
  uint32_t before = HAK_NO_UNIT;
  for (uint32_t u = k->first[b]; u != HAK_NO_UNIT; u = hak_range_entry(u)->next, ++*listed) {
    const struct hak_unit *s = hak_range_entry(u);
    if (!is_slab_of(s, c)) return "something that is no slab of the class is on its lists";
    if (s->bin != b || right_bin(s) != b) return "a slab is on the wrong list";
    if (s->previous != before) return "a list's links do not agree";
    before = u;
  }
  return (k->filled >> b & 1) == (before != HAK_NO_UNIT) ? NULL : "a list's bit is wrong";
}

static const char *sums_wrong(const struct hak_slab_class *k, unsigned c, size_t listed) {
  size_t should_be_listed = 0, empties = 0, units = 0, out = 0;
  for (uint32_t u = 1; u < g_range.units; u++) {
    const struct hak_unit *s = hak_range_entry(u);
    if (!is_slab_of(s, c)) continue;
    const char *wrong = bitmap_wrong(s, c);
    if (wrong != NULL) return wrong;
    if (s->bin != right_bin(s)) return "a slab names the wrong list";
    should_be_listed += right_bin(s) != HAK_SLAB_NO_BIN;
    empties += !s->owned && s->free == g_class[c].slots;
    units += g_class[c].units;
    out += g_class[c].slots - s->free;
  }
  if (listed != should_be_listed) return "a partial slab is on no list";
  if (k->empties != empties) return "empty slabs are miscounted";
  if (k->units != units) return "units are miscounted";
  return k->handed_out == out ? NULL : "blocks that are out are miscounted";
}

const char *hak_inside_slab_wrong(unsigned c) {
  const struct hak_slab_class *k = g_slab[c];
  size_t listed = 0;
  if (k == NULL) return NULL;
  for (unsigned b = 0; b < HAK_SLAB_BINS; b++) {
    const char *wrong = list_wrong(k, b, c, &listed);
    if (wrong != NULL) return wrong;
  }
  return sums_wrong(k, c, listed);
}
