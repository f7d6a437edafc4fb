/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* region.c: advice to the kernel for 2 MiB regions of the range.
 *
 * what      A table with the advice of each region, and the rules by which advice changes. See region.h.
 * owner     g_region, g_regions.
 * locks     g_region.lock. After a takeover (os/lock.h) the borders are counted again.
 * orders    See region.h. The unit table is read without a lock: a value may be stale, and a later sweep corrects a
 *           decision based on a stale value.
 * not here  Purging.
 */
#include "runs/region.h"

#include "os/lock.h"
#include "os/os.h"
#include "retain/huge.h"
#include "tables/classes.h"
#include "tables/range.h"
#include "tables/settings.h"

enum {
  REGION_UNITS = HAK_REGION_UNITS,
  REGIONS = 1 << 14,
  MOST_BORDERS = 512,
  BORDERS_ALLOWED = HAK_SECURE ? 2 * REGIONS : MOST_BORDERS, /* there each region is a mapping anyway (guards.h) */
  QUIET_UNITS = 4 * REGION_UNITS
};
#define REGION_BYTES (REGION_UNITS * HAK_UNIT_BYTES)

/* The advice of a region. SMALL: huge advice was withdrawn where plain regions have no advice, which none restores. */
enum { PLAIN, HUGE, QUIET, SMALL };

static struct {
  struct hak_lock lock;
  uint32_t borders; /* between neighbours of different advice; 0: all regions are plain */
  uint32_t huge;    /* regions with huge advice */
} g_region;
static HAK_RARE uint8_t g_regions[REGIONS];

static bool kernel_has_our_size(void) { return hak_os_huge_bytes() == REGION_BYTES; }

/* ---- the table ---- */

static unsigned advice_of(size_t r) { return r < REGIONS ? hak_load(&g_regions[r]) : PLAIN; }

/* Counts the borders at both ends of [from, to) and inside. */
static uint32_t borders_of(size_t from, size_t to) {
  uint32_t n = from == 0 ? advice_of(0) != PLAIN : 0;
  for (size_t r = from == 0 ? 1 : from; r <= to; r++) n += advice_of(r - 1) != advice_of(r);
  return n;
}

static uint32_t count_huge(size_t from, size_t to) {
  uint32_t n = 0;
  for (size_t r = from; r < to; r++) n += advice_of(r) == HUGE;
  return n;
}

static void take_region_lock(void) {
  if (!hak_lock_take(&g_region.lock)) return;
  hak_store(&g_region.borders, borders_of(0, REGIONS));
  hak_store(&g_region.huge, count_huge(0, REGIONS));
}

static void note_locked(size_t from, size_t to, unsigned advice) {
  uint32_t others = g_region.borders - borders_of(from, to), huge = g_region.huge - count_huge(from, to);
  for (size_t r = from; r < to; r++) hak_store(&g_regions[r], (uint8_t)advice);
  hak_store(&g_region.borders, others + borders_of(from, to));
  hak_store(&g_region.huge, huge + count_huge(from, to));
}

/* The end of the regions, from `from` on and below `to`, that share the advice of `from`. */
static size_t same_until(size_t from, size_t to) {
  size_t r = from + 1;
  while (r < to && advice_of(r) == advice_of(from)) r++;
  return r;
}

/* ---- advice ---- */

static bool tell_kernel(size_t from, size_t to, unsigned advice, bool give) {
  void *p = hak_range_address((uint32_t)(from * REGION_UNITS));
  size_t bytes = (to - from) * REGION_BYTES;
  if (advice == QUIET) return hak_os_advise_dump(p, bytes, !give);
  return hak_os_advise_huge(p, bytes, give && advice == HUGE);
}

/* Pages are about to leave the regions [from, to): splits their huge pages. By all pages but the first: single pages
 * that were written while a fork's child lived are no part of it any more. */
static void split_huge(size_t from, size_t to) {
  size_t page = hak_os_page_bytes();
  for (size_t r = from; r < to; r++) {
    hak_os_split_huge((char *)hak_range_address((uint32_t)(r * REGION_UNITS)) + page, REGION_BYTES - page);
  }
}

/* Gives `advice` to the regions [from, to), which share an advice, if the bound on borders allows. */
static void give_locked(size_t from, size_t to, unsigned advice) {
  unsigned before = advice_of(from);
  note_locked(from, to, advice);
  bool ok = g_region.borders <= BORDERS_ALLOWED && tell_kernel(from, to, advice, true);
  if (!ok) note_locked(from, to, before);
}

/* Withdraws the advice of all regions of [from, to). At the bound on borders also of the regions behind, up to the next
 * plain region: then no border is added. empty: they have no pages, so no huge page needs a split. */
static void withdraw_advice_locked(size_t from, size_t to, bool empty) {
  if (g_region.borders + 2 > BORDERS_ALLOWED) {
    while (advice_of(to) != PLAIN) to++;
  }
  for (size_t end; from < to; from = end) {
    unsigned advice = advice_of(from);
    end = same_until(from, to);
    unsigned left = advice == HUGE && hak_huge_has_middle() ? SMALL : PLAIN;
    bool given = advice == HUGE || advice == QUIET;
    if (given && tell_kernel(from, end, advice, false)) note_locked(from, end, left);
    if (advice == HUGE && !empty) split_huge(from, end);
  }
}

static void withdraw_advice(size_t from, size_t to) {
  take_region_lock();
  withdraw_advice_locked(from, to, false);
  hak_lock_drop(&g_region.lock);
}

/* ---- what a region holds ---- */

/* Bytes surely resident in `units` units of a live run: blocks handed out of a slab, of at most a page each, as each
 * such block was written to somewhere. Larger blocks may be buffers that were never filled. The kernel's mincore would
 * know, but a sandbox may end the process for that call. */
static size_t out_bytes(const struct hak_unit *run, size_t units) {
  if (hak_load_acquire(&run->kind) != HAK_UNIT_SLAB) return 0;
  const struct hak_class *class = &g_class[hak_load_acquire(&g_range.map[hak_range_index(run)])];
  size_t free = hak_min(hak_load(&run->free), class->slots);
  if (class->bytes > hak_os_page_bytes()) return 0;
  return (class->slots - free) * class->bytes * units / hak_max(class->units, 1);
}

static bool is_nearly_all(size_t bytes) { return bytes >= REGION_BYTES / 8 * 7; }

/* True if every unit is in use and 7/8 of the region's bytes are handed out. */
static bool is_dense(size_t r) {
  size_t out = 0, units;
  uint32_t u = (uint32_t)(r * REGION_UNITS), end = u + REGION_UNITS;
  for (; u < end; u += (uint32_t)units) {
    uint32_t head = hak_range_run_of(hak_range_address(u));
    const struct hak_unit *run = hak_range_entry(head);
    size_t behind = (size_t)head + hak_load(&run->length);
    if (head == HAK_NO_UNIT || behind <= u) return false;
    units = hak_min(behind, end) - u;
    out += out_bytes(run, units);
  }
  return is_nearly_all(out);
}

/* ---- the calls ---- */

/* By default the range has no huge pages, whatever mode the system is in or changes to. Where the system gives middle
 * pages the range has these: the same advice would forbid them. */
void hak_region_grown(uint32_t first, size_t units) {
  bool on = hak_setting(huge_pages) == HAK_HUGE_ON;
  if (on ? !kernel_has_our_size() : hak_huge_has_middle()) return;
  hak_os_advise_huge(hak_range_address(first), units * HAK_UNIT_BYTES, on);
}

/* The regions that [first, first + units) overlaps. */
static size_t first_touched(uint32_t first) { return first / REGION_UNITS; }
static size_t end_touched(uint32_t first, size_t units) {
  return hak_min((first + units + REGION_UNITS - 1) / REGION_UNITS, REGIONS);
}

static bool covers(uint32_t first, size_t units, size_t r) {
  return first <= r * REGION_UNITS && first + units >= (r + 1) * REGION_UNITS;
}

/* The regions that lie wholly inside [first, first + units). */
static size_t first_inside(uint32_t first) { return (first + REGION_UNITS - 1) / REGION_UNITS; }
static size_t end_inside(uint32_t first, size_t units) { return hak_min((first + units) / REGION_UNITS, REGIONS); }

void hak_region_cleaned(uint32_t first, size_t units) {
  if (units < QUIET_UNITS) return;
  size_t from = first_inside(first), to = end_inside(first, units);
  take_region_lock();
  for (size_t end; from < to; from = end) {
    end = same_until(from, to);
    if (advice_of(from) == HUGE) withdraw_advice_locked(from, end, true);
    if (advice_of(from) == PLAIN) give_locked(from, end, QUIET);
  }
  hak_lock_drop(&g_region.lock);
}

void hak_region_gone(uint32_t first, size_t units) {
  if (hak_load(&g_region.borders) == 0) return;
  take_region_lock();
  if (first_inside(first) < end_inside(first, units)) note_locked(first_inside(first), end_inside(first, units), PLAIN);
  hak_lock_drop(&g_region.lock);
}

/* True if the advice of region r may stay while [first, first + units) comes into use. Huge advice stays only where the
 * whole region comes into use: otherwise one small block would cost 2 MiB. */
static bool suits(size_t r, uint32_t first, size_t units) {
  unsigned advice = advice_of(r);
  return advice == PLAIN || advice == SMALL || (advice == HUGE && covers(first, units, r));
}

void hak_region_used(uint32_t first, size_t units) {
  if (HAK_LIKELY(hak_load(&g_region.borders) == 0)) return;
  size_t end = end_touched(first, units);
  for (size_t to, r = first_touched(first); r < end; r = to) {
    to = r + 1;
    if (suits(r, first, units)) continue;
    while (to < end && !suits(to, first, units)) to++;
    withdraw_advice(r, to);
  }
}

/* The border of regions that the run reaches into without covering the region, where the region has huge advice. */
static uint32_t own_start(uint32_t first) {
  bool huge = first % REGION_UNITS != 0 && advice_of(first / REGION_UNITS) == HUGE;
  return huge ? (uint32_t)first_inside(first) * REGION_UNITS : first;
}
static uint32_t own_end(uint32_t end) {
  bool huge = end % REGION_UNITS != 0 && advice_of(end / REGION_UNITS) == HUGE;
  return huge ? end / REGION_UNITS * REGION_UNITS : end;
}

uint32_t hak_region_whole_start(uint32_t unit) { return own_start(unit); }
uint32_t hak_region_whole_end(uint32_t unit) { return own_end(unit); }

/* Where plain regions have no advice only whole regions lose a program's, so that the table tells each border. */
static HAK_NOINLINE void withdraw_whole(uint32_t first, size_t units) {
  take_region_lock();
  for (size_t r = first_inside(first), end; r < end_inside(first, units); r = end) {
    end = same_until(r, end_inside(first, units));
    if (advice_of(r) == PLAIN) give_locked(r, end, SMALL);
  }
  hak_lock_drop(&g_region.lock);
}

void hak_region_withdraw(uint32_t first, size_t units) {
  bool on = hak_setting(huge_pages) == HAK_HUGE_ON;
  if (on && !kernel_has_our_size()) return;
  if (HAK_UNLIKELY(hak_huge_has_middle())) {
    withdraw_whole(first, units);
    return;
  }
  uint32_t from = own_start(first), end = own_end(first + (uint32_t)units);
  if (from < end) hak_os_advise_huge(hak_range_address(from), (size_t)(end - from) * HAK_UNIT_BYTES, on);
}

/* Withdraws the huge advice of regions of which only a part is purged; with `spare`, dense regions stay huge. True if a
 * region was spared. */
static bool purging(uint32_t first, size_t units, bool spare) {
  bool spared = false;
  if (hak_load(&g_region.borders) == 0) return false;
  size_t end = end_touched(first, units);
  for (size_t r = first_touched(first); r < end; r++) {
    if (advice_of(r) != HUGE || covers(first, units, r)) continue;
    bool stays = spare && is_dense(r);
    if (!stays) withdraw_advice(r, r + 1);
    spared |= stays;
  }
  return spared;
}

bool hak_region_keep(uint32_t first, size_t units) { return purging(first, units, true); }
void hak_region_break(uint32_t first, size_t units) { purging(first, units, false); }

/* ---- opening ---- */

bool hak_region_any_huge(void) { return hak_load(&g_region.huge) != 0; }
bool hak_region_is_huge(uint32_t first) { return advice_of(first / REGION_UNITS) == HUGE; }

static bool advise_locked(size_t r) {
  if (advice_of(r) == QUIET) withdraw_advice_locked(r, r + 1, true);
  if (advice_of(r) != HUGE) give_locked(r, r + 1, HUGE);
  return advice_of(r) == HUGE;
}

bool hak_region_open(uint32_t first, bool tabled) {
  size_t r = first / REGION_UNITS;
  if (r >= REGIONS || !kernel_has_our_size()) return false;
  take_region_lock();
  bool ok = advise_locked(r);
  hak_lock_drop(&g_region.lock);
  if (ok && tabled) hak_os_purge(hak_range_address(first), REGION_BYTES);
  return ok;
}

void hak_region_close(uint32_t first) {
  size_t r = first / REGION_UNITS;
  take_region_lock();
  if (advice_of(r) == HUGE) withdraw_advice_locked(r, r + 1, false);
  hak_lock_drop(&g_region.lock);
}
