/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_huge.c: big blocks that are fetched in huge pages.
 *
 * what      A block that is filled pays for huge pages; a block of 8 MiB of which the program writes 4 KiB does not.
 *           Only the program knows, and a block that it lengthens is one that it filled. So when a block grows by 2 MiB
 *           or more, some bytes of its first part are read. Zero: this part was hardly written. A block that grows to
 *           more than twice its length has small pages, as does a longer one whose last growth stayed empty: at most
 *           as much is resident unasked as was filled.
 *
 *               grown     [x x x x x x x x][2 MiB ][2 MiB ]  filled: advised                       x  written
 *               grown     [x . . . . . . .][              ]  sparse: never advised
 *
 *           Of the new part every STRIDE-th region, and at most TOUCHES, is touched at once and timed (retain/huge.h).
 *           Under huge_pages=on every fresh block is advised, from a border of regions on.
 *           A freed block loses its advice, like all cached memory, and keeps its huge pages: one is split before a
 *           part of it goes.
 * owner     g_huge_blocks.
 * locks     None; g_big.lock is not held where memory is read or touched.
 * failure   Where the kernel cannot tell whether memory is readable (before 5.14), no block is judged, none advised.
 *           Where huge pages are given without advice, the system's choice stays.
 * not here  What a huge page costs: retain/huge.h.
 */
#include "base/bits.h"
#include "blocks/big_internal.h"
#include "os/os.h"
#include "retain/huge.h"

enum {
  SAMPLES = 8,     /* pages read of a block */
  FILLED = 7,      /* of these not zero: the block is filled */
  WORDS = 8,       /* read of a page: a cache line */
  MOST_GROWTH = 2, /* new bytes / old bytes: what is filled proves as much more */
  STRIDE = 16,     /* regions to a timed touch */
  TOUCHES = 4
};

static HAK_RARE struct {
  bool any; /* a block was advised: cached memory may hold huge pages */
} g_huge_blocks;

static bool is_auto(void) { return hak_setting(huge_pages) == HAK_HUGE_AUTO; }

/* True if huge pages are to be had by advice, now. */
static bool is_offered(void) {
  if (hak_setting(huge_pages) == HAK_HUGE_ON) return true;
  return is_auto() && hak_os_huge_is_by_advice() && hak_huge_pays(false);
}

bool hak_big_wants_huge(size_t bytes) {
  return hak_setting(huge_pages) == HAK_HUGE_ON && bytes >= hak_os_huge_bytes();
}

/* ---- judging ---- */

static bool is_written(const char *page) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < WORDS; i++) sum |= ((const volatile uint64_t *)page)[i];
  return sum != 0;
}

/* True if nearly all of the pages looked at are written. False if the program forbids reading one. */
static bool is_filled(char *p, size_t bytes) {
  size_t page = hak_os_page_bytes(), zeros = 0;
  for (size_t i = 0; i < SAMPLES && zeros <= SAMPLES - FILLED; i++) {
    char *at = p + (bytes / (2 * SAMPLES) * (2 * i + 1)) / page * page;
    if (!hak_os_populate(at, page, false)) return false;
    zeros += !is_written(at + i * (page / SAMPLES));
  }
  return zeros <= SAMPLES - FILLED;
}

/* ---- fetching ---- */

/* Touches a region of STRIDE, and the next one after a dear one. False: they do not pay now. */
static bool touch_some(char *from, const char *end) {
  size_t huge = hak_os_huge_bytes();
  char *at = (char *)hak_round_up((uintptr_t)from, huge);
  for (unsigned n = 0; n < TOUCHES && at < end && (size_t)(end - at) >= huge; n++) {
    enum hak_huge_outcome outcome = hak_huge_touch(at, false);
    if (outcome == HAK_HUGE_REFUSED || !hak_huge_pays(false)) return false;
    at += outcome == HAK_HUGE_CHEAP ? STRIDE * huge : huge;
  }
  return true;
}

/* Advises the block at p, of which bytes from `old` on have no pages. False: huge pages do not pay, and the advice is
 * withdrawn. */
static bool fetch_huge(char *p, size_t old, size_t bytes) {
  if (!hak_os_advise_huge(p, bytes, true)) return false;
  hak_store(&g_huge_blocks.any, true);
  if (!is_auto() || touch_some(p + old, p + bytes)) return true;
  hak_os_advise_huge(p, bytes, false);
  return false;
}

uint8_t hak_big_fetch_fresh(const struct hak_big_piece *block, bool huge) {
  if (huge && fetch_huge(block->address, 0, block->bytes)) return HAK_BIG_HUGE;
  hak_big_unadvise(block->address, block->bytes);
  return HAK_BIG_FRESH;
}

/* True if the block's growth is to be judged: by 2 MiB or more, and of an advised block beyond each further region, as
 * its advice covers what it grows by. */
static bool is_judged(const struct hak_big_piece *block, size_t bytes) {
  size_t huge = hak_os_huge_bytes();
  if ((block->fetch & HAK_BIG_HUGE) != 0) return bytes / huge != block->bytes / huge;
  return block->fetch != 0 && bytes - block->bytes >= huge;
}

/* The block, now `bytes` long at p, has small pages in its new part. */
static uint8_t grow_small(const struct hak_big_piece *block, char *p, size_t bytes, uint8_t fetch) {
  if ((block->fetch & HAK_BIG_HUGE) != 0) hak_os_advise_huge(p, bytes, false);
  return fetch;
}

uint8_t hak_big_grow_huge(const struct hak_big_piece *block, char *p, size_t bytes) {
  bool jumps = is_auto() && bytes / MOST_GROWTH > block->bytes;
  if (!is_judged(block, bytes)) return block->fetch;
  if (jumps || !is_offered()) return grow_small(block, p, bytes, HAK_BIG_FRESH);
  if (is_auto() && !is_filled(p, block->bytes)) return grow_small(block, p, bytes, 0);
  return fetch_huge(p, block->bytes, bytes) ? HAK_BIG_HUGE : 0;
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
