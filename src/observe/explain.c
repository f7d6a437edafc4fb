/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* explain.c: an address explained as text.
 *
 * what      See explain.h. Sources in order: the unit table, the slab's bitmap, magazines and depot; the table of big
 *           blocks and the freed big blocks that are kept; sampled blocks.
 */
#include "observe/explain.h"

#include "blocks/big.h"
#include "blocks/depot.h"
#include "blocks/guarded.h"
#include "blocks/large.h"
#include "cache/magazine.h"
#include "os/os.h"
#include "record/profile_samples.h"
#include "tables/range.h"
#include "tables/site.h"

#define LEAST ((uintptr_t)1 << 16) /* nothing is mapped below: such an address is NULL and an offset */

struct block {
  const char *state; /* "live", "free" */
  const char *where; /* place of a free block; "" */
  uintptr_t start;
  size_t bytes;
  bool has_class;
};

/* ---- text ---- */

/* Appends the call site of a block and returns its address; 0: unknown. */
static uint64_t say_asker(struct hak_line *line, uintptr_t block, unsigned site) {
  const struct hak_backtrace *stack = hak_samples_peek((const void *)block);
  uint64_t address = stack != NULL && stack->depth != 0 ? stack->frame[0] : 0;
  if (address == 0 && site != 0 && site < HAK_SITES) address = hak_load(&g_site[site].address);
  if (address == 0) return 0;
  hak_line_text(line, ", asked for at ");
  hak_line_hex(line, address);
  return address;
}

static void say_block(struct hak_line *line, const struct block *block, const void *p) {
  hak_line_text(line, "in a ");
  hak_line_text(line, block->state);
  hak_line_text(line, block->has_class ? " block of class " : " block of ");
  hak_line_dec(line, block->bytes);
  hak_line_text(line, " B (");
  hak_line_hex(line, block->start);
  hak_line_text(line, ", offset ");
  hak_line_dec(line, (uintptr_t)p - block->start);
  hak_line_text(line, ")");
  hak_line_text(line, block->where);
}

/* ---- slabs and runs ---- */

/* Completes a block that is handed out by its slab, or a run with a class: free if in a magazine or in the depot. */
static void find_cache(struct block *block, unsigned c) {
  const void *p = (const void *)block->start;
  if (hak_magazine_holds(c, p)) block->where = ", in a thread's magazine";
  else if (hak_depot_holds(c, p)) block->where = ", in the depot between threads";
  else return;
  block->state = "free";
}

static uint64_t say_slab(struct hak_line *line, const struct hak_unit *s, const void *p) {
  const struct hak_class *class = &g_class[hak_load(&s->size_class)];
  const uint64_t *words = hak_load_acquire(&s->words);
  uintptr_t start = (uintptr_t)hak_range_address(hak_range_index(s));
  size_t offset = (uintptr_t)p - start, slot = offset / hak_max(class->bytes, 1);
  if (words == NULL || slot >= class->slots) {
    hak_line_text(line, "in a slab, behind its last block");
    return 0;
  }
  struct block block = {"live", "", start + slot * class->bytes, class->bytes, true};
  unsigned c = hak_load(&g_range.map[hak_range_index(s)]);
  if (hak_load(&words[slot / 64]) >> slot % 64 & 1) {
    bool empty = hak_load(&s->empty) >> offset / hak_os_page_bytes() & 1;
    block.state = "free";
    block.where = empty ? ", whose page was released" : ", in its slab";
  } else if (c != 0) {
    find_cache(&block, c);
  }
  say_block(line, &block, p);
  return c == 0 ? say_asker(line, block.start, 0) : 0;
}

static uint64_t say_large(struct hak_line *line, const struct hak_unit *run, const void *p) {
  uint32_t u = hak_range_index(run);
  const void *start = hak_large_block_of(u, p);
  if (start == NULL) {
    hak_line_text(line, "in free pages between blocks");
    return 0;
  }
  struct block block = {"live", "", (uintptr_t)start, hak_large_bytes(u, start), false};
  unsigned c = hak_large_class(start);
  if (c != 0) find_cache(&block, c);
  say_block(line, &block, p);
  return c == 0 ? say_asker(line, block.start, hak_large_site(u, start)) : 0;
}

/* The first unit of the run around unit u. In a run in use: the nearest unit before u that is no tail. */
static const struct hak_unit *begin_of(uint32_t u) {
  const struct hak_unit *e = hak_range_entry(u);
  unsigned kind = hak_load_acquire(&e->kind);
  bool is_free = kind >= HAK_UNIT_CLEAN && kind <= HAK_UNIT_UNMAPPED;
  if (is_free) return hak_range_entry(hak_load(&e->head)); /* the last unit has `head`, too */
  while (u > 1 && hak_load_acquire(&e->kind) == HAK_UNIT_TAIL) e = hak_range_entry(--u);
  return e;
}

static uint64_t say_unit(struct hak_line *line, uint32_t u, const void *p) {
  static const char text[][56] = {
    [HAK_UNIT_HOLE] = "in a gap of HAKMEM's address range, never mapped",
    [HAK_UNIT_CLEAN] = "in free memory whose pages were released",
    [HAK_UNIT_DIRTY] = "in free memory, which was freed",
    [HAK_UNIT_UNMAPPED] = "in memory that was freed and unmapped",
    [HAK_UNIT_TAIL] = "in memory whose state is changing",
  };
  static const struct hak_unit hole; /* a gap has no entry */
  const struct hak_unit *run = hak_range_pass(u) == u ? begin_of(u) : &hole;
  unsigned kind = hak_load_acquire(&run->kind);
  if (kind == HAK_UNIT_SLAB) return say_slab(line, run, p);
  if (kind == HAK_UNIT_LARGE || kind == HAK_UNIT_PAGED) return say_large(line, run, p);
  hak_line_text(line, text[kind <= HAK_UNIT_TAIL ? kind : HAK_UNIT_TAIL]);
  return 0;
}

/* ---- big blocks and foreign memory ---- */

static uint64_t say_guarded(struct hak_line *line, const void *p) {
  const struct hak_guarded *slot = hak_guarded_near(p);
  if (slot == NULL || (uintptr_t)p - slot->address >= slot->bytes) {
    hak_line_text(line, "beside guarded blocks (guard_bytes)");
    return 0;
  }
  bool live = hak_load_acquire(&slot->state) == HAK_GUARDED_LIVE;
  struct block block = {live ? "live" : "freed", ", guarded", slot->address, slot->bytes, false};
  say_block(line, &block, p);
  return 0;
}

static uint64_t say_big(struct hak_line *line, const void *p) {
  struct hak_big_seen seen = hak_big_identify(p);
  if (seen.bytes == 0) {
    hak_line_text(line, (uintptr_t)p < LEAST ? "near NULL" : "outside HAKMEM's memory, or in memory that was unmapped");
    return 0;
  }
  const char *state = seen.live ? "live" : "freed", *where = seen.live ? "" : ", kept for reuse";
  struct block block = {state, where, seen.address, seen.bytes, false};
  say_block(line, &block, p);
  return say_asker(line, block.start, seen.site);
}

uint64_t hak_explain(struct hak_line *line, const void *p) {
  size_t u = hak_range_unit_of(p);
  bool inside = u < hak_load_acquire(&g_range.units);
  if (inside) return say_unit(line, (uint32_t)u, p);
  return hak_guarded_holds(p) ? say_guarded(line, p) : say_big(line, p);
}
