/* big_level.c: how much of what is kept of big blocks may stay.
 *
 * what      A level (core/level.h) for each keep time that blocks have: that of the price, which all sites begin with,
 *           and those that sites were told. Free memory serves whoever comes, so the sum is what counts.
 *
 *               site --> keep time 0: T of the price      level 0: live, most within T  \
 *               site --> keep time 5: 1.0 s               level 5: live, most within 1 s  > sum of what may stay
 *               site /                                                                   /
 * failure   After a cut the levels are as they were noted.
 * not here  Which keep time: core/site.h. What goes: the oldest first, whoever had it, in big.c.
 */
#include "box/big_inside.h"
#include "core/knobs.h"
#include "os/os.h"

static HAK_TABLE struct hak_level g_level[HAK_KEEPS];

static uint64_t may_stay_of(const struct hak_level *level, unsigned keep) {
  return HAK_LIKELY(keep == 0) ? hak_rent_may_stay(level, 1) : hak_rent_may_stay_told(level);
}

/* No sum is more than UINT64_MAX, which is all. */
static uint64_t add(uint64_t a, uint64_t b) { return a + hak_min(b, UINT64_MAX - a); }

/* Of the keep times in the mask, and of one whose level is this. */
HAK_INLINE uint64_t sum_of(uint32_t mask, const struct hak_level *level, unsigned keep) {
  uint64_t bytes = may_stay_of(level, keep);
  for (; HAK_UNLIKELY(mask != 0); mask &= mask - 1) {
    unsigned k = hak_lowest_bit(mask);
    bytes = add(bytes, may_stay_of(&g_level[k], k));
  }
  return hak_min(bytes, hak_load(&g_knobs.big_cache_bytes));
}

uint64_t hak_big_may_stay_locked(void) { return sum_of(g_big.keeps & ~1u, &g_level[0], 0); }

uint64_t hak_big_may_stay_beside_locked(unsigned keep, uint64_t more) {
  struct hak_level level = g_level[keep];
  hak_level_note(&level, g_big.live_for[keep] + more, hak_os_now_ms());
  return sum_of(g_big.keeps & ~(1u << keep), &level, keep);
}

void hak_big_note_locked(unsigned keep, uint64_t now) {
  hak_level_note(&g_level[keep], g_big.live_for[keep], now);
  hak_store(&g_rent.now_ms, now);
}

void hak_big_note_unfit_locked(unsigned keep, uint64_t bytes) { hak_level_note_unfit(&g_level[keep], bytes); }

void hak_big_note_all_locked(uint64_t now) {
  for (uint32_t mask = g_big.keeps | 1; mask != 0; mask &= mask - 1) hak_big_note_locked(hak_lowest_bit(mask), now);
}

void hak_big_set_rent_locked(void) {
  for (uint32_t mask = g_big.keeps | 1; mask != 0; mask &= mask - 1) {
    unsigned keep = hak_lowest_bit(mask);
    hak_level_set_rent(&g_level[keep], hak_keep_ms(keep));
  }
}
