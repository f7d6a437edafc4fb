/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* utilization.c: how full the slab of a block is, and whether moving the block pays.
 *
 * what      src/blocks counts the slab of the block, and all slabs of its class.
 * locks     None of its own; src/blocks takes its locks inside the calls.
 * failure   False: p lies in no block.
 * not here  Counting: blocks/slab_use.c.
 */
#include "observe/utilization.h"

#include "blocks/big.h"
#include "blocks/guarded.h"
#include "blocks/large.h"
#include "blocks/slab_use.h"
#include "os/os.h"
#include "tables/classes.h"
#include "tables/range.h"

/* True if the slab has a free slot and is at most 1/8 fuller than the average of its class. The 1/8: among equally full
 * slabs, some must be emptied, too. */
static bool is_sparse(const struct hak_utilization *u) {
  enum { EIGHTHS = 8 };
  bool full = u->slab_out == u->slab_blocks, alone = u->class_slabs < 2;
  return !full && !alone && u->slab_out * u->class_slabs * EIGHTHS <= u->class_out * (EIGHTHS + 1);
}

static void note_slab(const struct hak_slab_use *use, struct hak_utilization *u) {
  u->block_bytes = use->block_bytes;
  u->slab_bytes = use->bytes;
  u->slab_blocks = use->slots;
  u->slab_out = use->out;
  u->page_out = use->page_out;
  u->current = use->current;
}

/* Fills u for a run or a mapping, which is a single block. */
static bool note_whole(size_t bytes, struct hak_utilization *u) {
  u->block_bytes = u->slab_bytes = bytes;
  u->slab_blocks = u->slab_out = 1;
  u->page_out = u->page_bytes;
  return bytes != 0;
}

static size_t whole_bytes(const void *p) {
  if (hak_guarded_holds(p)) return hak_guarded_around(p);
  uint32_t run = hak_range_run_of(p);
  if (run == HAK_NO_UNIT) return hak_big_bytes(hak_big_block_of(p));
  const void *block = hak_large_block_of(run, p);
  return block != NULL ? hak_large_bytes(run, block) : 0;
}

static bool note_use(const void *p, struct hak_utilization *u) {
  struct hak_slab_use use;
  unsigned c = hak_range_class(p);
  if (!hak_slab_use_of(p, &use)) {
    if (!hak_slab_sampled_use_of(p, &use)) return note_whole(whole_bytes(p), u);
    return note_slab(&use, u), true;
  }
  struct hak_slab_class_use all = hak_slab_use_of_class(c);
  note_slab(&use, u);
  u->class_slabs = all.slabs;
  u->class_out = all.out;
  u->worth_moving = !use.current && is_sparse(u);
  return true;
}

bool hak_utilization_of(const void *p, struct hak_utilization *u) {
  *u = (struct hak_utilization){.page_bytes = hak_os_page_bytes()};
  return note_use(p, u);
}
