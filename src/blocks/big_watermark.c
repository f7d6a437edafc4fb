/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_watermark.c: the keep limit of cached big blocks.
 *
 * what      A watermark (retain/watermark.h) per keep time in use: keep time 0 of the price, with which all sites
 *           begin; keep times set by hak_keep_at; learnt keep times (learn/big_keep.c). Cached memory serves every
 *           site, so only the sum of the limits counts.
 *
 *               site --> keep time 0: T of the price      level 0: live, most within T  \
 *               site --> keep time 5: 1.0 s               level 5: live, most within 1 s  > keep limit: the sum
 *               site --> learnt: 1/4 of T                 level 19: live, most within T/4 /
 * failure   After a takeover (os/lock.h) the watermarks stay as last noted.
 * not here  Which keep time a site has: tables/site.h. What is evicted: the oldest memory, in big.c.
 */
#include "blocks/big_internal.h"
#include "os/os.h"
#include "tables/settings.h"

HAK_RARE struct hak_big_cache g_big_cache[HAK_KEEPS];

static uint64_t keep_limit_of(const struct hak_watermark *level, unsigned keep) {
  if (keep == hak_keep_of_arm(0)) return 0;
  return keep == 0 ? hak_rent_keep_limit(level, 0) : hak_rent_keep_limit_told(level);
}

/* UINT64_MAX means all. */
static uint64_t saturating_add(uint64_t a, uint64_t b) { return a + hak_min(b, UINT64_MAX - a); }

/* `bytes` plus the keep limits of the keep times in the mask. */
static HAK_NOINLINE uint64_t add_others(uint64_t bytes, uint32_t mask) {
  for (; mask != 0; mask &= mask - 1) {
    unsigned keep = hak_lowest_bit(mask);
    bytes = saturating_add(bytes, keep_limit_of(&g_big_cache[keep].level, keep));
  }
  return bytes;
}

static uint64_t bound(uint64_t bytes) { return hak_min(bytes, hak_load(&g_settings.big_cache_bytes)); }

uint64_t hak_big_keep_limit_locked(void) {
  uint64_t bytes = hak_rent_keep_limit(&g_big_cache[0].level, 0);
  return bound(HAK_LIKELY(g_big.keeps == 0) ? bytes : add_others(bytes, g_big.keeps));
}

uint64_t hak_big_keep_limit_beside_locked(unsigned keep, uint64_t more) {
  struct hak_watermark *level = &g_big_cache[keep].level;
  uint64_t now = hak_os_now_ms(), live = hak_big_live_locked(keep);
  hak_watermark_note(level, live, now); /* time passes for good */
  uint64_t most = level->most, reused = level->reused;
  hak_watermark_suppose(level, live + more);
  uint64_t stay = keep_limit_of(level, keep);
  level->live = live, level->most = most, level->reused = reused;
  return bound(add_others(stay, (g_big.keeps | 1) & ~(1u << keep)));
}

/* Notes a keep time other than 0; drops the keep time from g_big.keeps when no block was live within that time. */
static void note_told_locked(unsigned keep, uint64_t now) {
  hak_big_note_locked(keep, now);
  if (g_big_cache[keep].level.most == 0) g_big.keeps &= ~(1u << keep);
}

void hak_big_note_all_locked(uint64_t now) {
  hak_big_note_locked(0, now);
  for (uint32_t mask = g_big.keeps; mask != 0; mask &= mask - 1) note_told_locked(hak_lowest_bit(mask), now);
}

void hak_big_set_rent_locked(void) {
  for (uint32_t mask = g_big.keeps | 1; mask != 0; mask &= mask - 1) {
    unsigned keep = hak_lowest_bit(mask);
    hak_watermark_set_rent(&g_big_cache[keep].level, hak_keep_ms(keep));
  }
}
