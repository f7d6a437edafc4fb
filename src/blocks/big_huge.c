/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_huge.c: big blocks that are fetched in huge pages.
 *
 * what      A block that is filled pays for huge pages; a block of 8 MiB of which the program writes 4 KiB does not.
 *           Only the program knows, so a block is judged by those before: some bytes are read of a block whose pages
 *           were all fetched for it. Zero: this part was hardly written.
 *
 *               freed     [x . . . . . . .]  sparse: no block is advised           x  written
 *               freed     [x x x x x x x x]  filled: blocks up to LONGER times as long are
 *               mapped    [2 MiB ][2 MiB ][ .. ]  advised; begins at a border of regions
 *               grown     [x x x x x x x x][2 MiB ][2 MiB ]  advised, as its first part is filled
 *
 *           Blocks are judged when they are freed, and while one thread runs also the last one mapped when the next is,
 *           if it is filled by then. Of the advised ones at most MOST are not judged: blocks that turn sparse take no
 *           more. Blocks of calloc are judged apart, as a program may leave their zeros untouched.
 *           Of an advised block every STRIDE-th region is touched at once, and timed (retain/huge.h).
 *           A freed block loses its advice, like all cached memory, and keeps its huge pages: one is split before a
 *           part of it goes.
 * owner     g_huge_blocks, g_big_last.
 * locks     g_big.lock; not held where memory is read or touched.
 * failure   Where the kernel cannot tell whether memory is readable (before 5.14), no block is judged, none advised.
 *           Where huge pages are given without advice, the system's choice stays.
 * not here  What a huge page costs: retain/huge.h.
 */
#include "base/bits.h"
#include "blocks/big_internal.h"
#include "os/alone.h"
#include "os/os.h"
#include "retain/huge.h"

enum {
  SAMPLES = 8, /* pages read of a block */
  FILLED = 7,  /* of these not zero: the block is filled */
  WORDS = 8,   /* read of a page: a cache line */
  LONGER = 4,
  MOST = 4,
  STRIDE = 16  /* regions to a timed touch */
};

static HAK_RARE struct {
  size_t filled[2];   /* [bytes] the longest filled block since the last sparse one; of malloc, of calloc */
  uint64_t unjudged;  /* advised blocks */
  bool any;           /* a block was advised: cached memory may hold huge pages */
} g_huge_blocks;

HAK_RARE uintptr_t g_big_last;

static bool is_auto(void) { return hak_setting(huge_pages) == HAK_HUGE_AUTO; }

/* True if huge pages are to be had by advice, now. */
static bool is_offered(void) {
  if (hak_setting(huge_pages) == HAK_HUGE_ON) return true;
  return is_auto() && hak_os_huge_is_by_advice() && hak_huge_pays(false);
}

static bool is_unjudged(const struct hak_big_piece *block) {
  return (block->fetch & (HAK_BIG_HUGE | HAK_BIG_FRESH)) == (HAK_BIG_HUGE | HAK_BIG_FRESH);
}

void hak_big_skip_judging_locked(struct hak_big_piece *block) {
  if (is_unjudged(block) && g_huge_blocks.unjudged != 0) g_huge_blocks.unjudged--;
  block->fetch &= HAK_BIG_HUGE;
}

bool hak_big_wants_huge_locked(size_t bytes, bool zeroed) {
  bool proven = g_huge_blocks.filled[zeroed] >= bytes / LONGER && g_huge_blocks.unjudged < MOST;
  if (is_auto() && !proven) return false;
  return bytes >= hak_os_huge_bytes() && is_offered();
}

/* ---- judging ---- */

static bool is_written(const char *page) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < WORDS; i++) sum |= ((const volatile uint64_t *)page)[i];
  return sum != 0;
}

/* True if nearly all of the pages looked at are written. False if the program forbids reading one. */
static bool is_filled(char *p, size_t bytes) {
  size_t page = hak_os_page_bytes(), written = 0;
  for (size_t i = 0; i < SAMPLES; i++) {
    char *at = p + (bytes / (2 * SAMPLES) * (2 * i + 1)) / page * page;
    if (!hak_os_populate(at, page, false)) return false;
    written += is_written(at + i * (page / SAMPLES));
  }
  return written >= FILLED;
}

static void note_judged_locked(const struct hak_big_piece *block, bool filled) {
  size_t *longest = &g_huge_blocks.filled[(block->fetch & HAK_BIG_ZEROED) != 0];
  *longest = filled ? hak_max(*longest, block->bytes) : 0;
}

void hak_big_end_fetch(struct hak_big_piece *block) {
  bool judges = (block->fetch & HAK_BIG_FRESH) != 0 && is_auto(), huge = (block->fetch & HAK_BIG_HUGE) != 0;
  bool filled = judges && is_filled(block->address, hak_big_usable(block));
  if (huge) hak_big_unadvise(block->address, block->bytes);
  hak_big_lock();
  if (judges) note_judged_locked(block, filled);
  if (g_big_last == (uintptr_t)block->address) hak_store(&g_big_last, 0);
  hak_big_skip_judging_locked(block);
  hak_big_unlock();
  block->empty = false;
}

/* Reads the slot of the last block mapped. False: none, it is gone, or judged. */
static bool take_last_locked(struct hak_big_piece *block) {
  const struct hak_big_slot *s = hak_big_find_locked(g_big_last);
  hak_store(&g_big_last, 0);
  if (s != NULL) hak_big_read_slot(s, block);
  return s != NULL && (block->fetch & HAK_BIG_FRESH) != 0;
}

/* No second thread can free the block, or forbid reading it, meanwhile. */
void hak_big_judge_last(void) {
  struct hak_big_piece block;
  hak_big_lock();
  bool judges = take_last_locked(&block);
  hak_big_unlock();
  if (!judges || !hak_is_single_threaded() || !is_filled(block.address, hak_big_usable(&block))) return;
  hak_big_lock();
  struct hak_big_slot *s = hak_big_find_locked((uintptr_t)block.address);
  note_judged_locked(&block, true);
  hak_big_skip_judging_locked(&block);
  if (s != NULL) hak_big_set_fetch_locked(s, block.fetch);
  hak_big_unlock();
}

void hak_big_note_mapped_locked(const struct hak_big_piece *block) {
  g_huge_blocks.unjudged += is_unjudged(block);
  bool waits = (block->fetch & HAK_BIG_FRESH) != 0 && block->bytes >= hak_os_huge_bytes() && is_auto();
  if (waits) hak_store(&g_big_last, (uintptr_t)block->address);
}

/* ---- fetching ---- */

/* Touches a region of STRIDE, and the next one after a dear one. False: they do not pay now. */
static bool touch_some(char *from, const char *end) {
  size_t huge = hak_os_huge_bytes();
  char *at = (char *)hak_round_up((uintptr_t)from, huge);
  while (at < end && (size_t)(end - at) >= huge) {
    enum hak_huge_outcome outcome = hak_huge_touch(at, false);
    if (outcome == HAK_HUGE_REFUSED || !hak_huge_pays(false)) return false;
    at += outcome == HAK_HUGE_CHEAP ? STRIDE * huge : huge;
  }
  return true;
}

bool hak_big_fetch_huge(char *p, size_t old, size_t bytes) {
  if (!hak_os_advise_huge(p, bytes, true)) return false;
  hak_store(&g_huge_blocks.any, true);
  if (!is_auto() || touch_some(p + old, p + bytes)) return true;
  hak_os_advise_huge(p, bytes, false);
  return false;
}

uint8_t hak_big_grow_huge(const struct hak_big_piece *block, char *p, size_t bytes) {
  uint8_t fetch = block->fetch;
  if (bytes - block->bytes < hak_os_huge_bytes() || fetch == 0 || !is_offered()) return fetch;
  bool fills = (fetch & HAK_BIG_HUGE) != 0 || !is_auto() || is_filled(p, block->bytes);
  return fills && hak_big_fetch_huge(p, block->bytes, bytes) ? HAK_BIG_HUGE : 0;
}

/* ---- leaving ---- */

bool hak_big_may_be_huge(void) { return hak_load(&g_huge_blocks.any); }

void hak_big_split_ends(const struct hak_big_piece *piece) {
  if (HAK_LIKELY(!hak_big_may_be_huge()) || piece->empty) return;
  size_t huge = hak_os_huge_bytes();
  uintptr_t start = (uintptr_t)piece->address, end = start + piece->bytes, first = hak_round_up(start, huge);
  uintptr_t last = end / huge * huge;
  if (first != start) hak_os_split_huge(piece->address, hak_min(first, end) - start);
  if (last != end && last >= first) hak_os_split_huge((char *)last, end - last);
}
