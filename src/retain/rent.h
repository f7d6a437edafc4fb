/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rent.h: what keeping free memory costs.
 *
 * what      Free memory pays rent: after a while it has cost as much as getting it again would, and goes back (ski
 *           rental: Karlin, Manasse, Rudolph and Sleator, 1988; never more than twice what a clairvoyant would pay).
 *
 *               rent      = price [ns per MiB and second] x bytes x time        the one setting HAKMEM_PRICE
 *               get again = a kernel call + pages x a page                      measured: retain/cost.h
 *
 *           Here too: the time as last looked at, in ticks where 16 bits must do.
 * owner     g_rent; the time is written by who reads the clock: ageing, and span for each MiB that is put.
 * orders    Relaxed: an old time makes memory look older by less than a look's distance.
 * not here  Who gives back what has cost too much: reclaim/release.c.
 */
#ifndef HAK_RETAIN_RENT_H
#define HAK_RETAIN_RENT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arms.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "retain/watermark.h"
#include "tables/hold.h"
#include "tables/settings.h"

struct hak_rent {
  uint64_t now_ms;   /* as last read from the clock */
  uint64_t pressure; /* free memory is dearer by 2^pressure */
  uint64_t refused_ms; /* when the kernel last refused to take pages back, as it does with locked ones; 0: never */
};
extern HAK_HIDDEN struct hak_rent g_rent;

enum { HAK_TICK_MS = 64, HAK_TICKS_PER_SECOND = 1024 / HAK_TICK_MS, HAK_RENT_PATIENCE_MS = 1000 };

/* Milliseconds after which `bytes` kept free have cost as much as getting them again; a day at most. */
uint64_t hak_rent_ms(size_t bytes);

/* The same for a stretch of many pages: what runs and big blocks are kept by. */
static inline uint64_t hak_rent_piece_ms(void) { return hak_rent_ms((size_t)2 << 20); }

/* Keep times. 0: as the price says, break-even. Then of memory whose owner was told one: 64 ms, and twice as long each.
 * Then the arms of what is learnt, times the break-even. */
enum { HAK_KEEP_TOLD = 16, HAK_KEEPS = HAK_KEEP_TOLD + HAK_ARMS, HAK_KEEP_LEAST_MS = 64 };
static_assert(HAK_KEEPS <= 32, "blocks/big_table.c has five bits for one, blocks/big_internal.h a mask");
uint64_t hak_keep_ms(unsigned keep);

static inline unsigned hak_keep_of_arm(unsigned arm) { return arm == HAK_ARM_BREAK_EVEN ? 0 : HAK_KEEP_TOLD + arm; }
static inline unsigned hak_keep_arm(unsigned keep) {
  return keep < HAK_KEEP_TOLD ? (unsigned)HAK_ARM_BREAK_EVEN : keep - HAK_KEEP_TOLD;
}

/* The least keep time of so many milliseconds and more; the longest. 0 is 0. */
unsigned hak_keep_for(uint64_t ms);

/* Bytes of a kind that may stay free though they were never taken again. */
uint64_t hak_rent_keep_floor(void);

/* Bytes of this kind's free memory that may stay: all of it where it costs nothing, none where memory is short. Of what
 * may stay unproved, and for not fitting, a kind that fits less has its share: all >> share_shift. */
uint64_t hak_rent_keep_limit(const struct hak_watermark *level, unsigned share_shift);

/* Do runs and slabs learn for how long they stay? */
static inline bool hak_rent_kinds_learn(void) {
  uint64_t mode = hak_setting(mode);
  return HAK_UNLIKELY(mode == HAK_MODE_SHADOW || mode == HAK_MODE_EVOLVING) && hak_setting(learn_kinds) != 0;
}

/* The same where somebody said for how long: within that nothing needs to prove itself. */
uint64_t hak_rent_keep_limit_told(const struct hak_watermark *level);

/* The kernel refused to take pages back. All may be locked: nobody tries for a while, unless he must. A try costs a few
 * microseconds for each MiB freed, and 1 s more or less matters to nobody whose pages are locked. */
static inline void hak_rent_refused(void) { hak_store(&g_rent.refused_ms, hak_load(&g_rent.now_ms)); }
static inline bool hak_rent_is_refused(uint64_t now_ms) {
  uint64_t refused_ms = hak_load(&g_rent.refused_ms);
  return refused_ms != 0 && now_ms - refused_ms < HAK_RENT_PATIENCE_MS;
}

/* Does free memory go back at all? Not at price 0, not while all of it is held, and not while the kernel refuses. */
bool hak_rent_release_enabled(void);

static inline uint16_t hak_rent_tick(void) { return (uint16_t)(hak_load(&g_rent.now_ms) / HAK_TICK_MS); }

#endif
