/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rent.h: the cost of keeping free memory.
 *
 * what      Free memory pays rent. When the rent paid equals the cost of getting the memory again, the memory is
 *           released (ski rental: Karlin, Manasse, Rudolph and Sleator, 1988). This alone costs at most twice what a
 *           clairvoyant pays; retain/watermark.h asks for reuse, too, and leaves that bound for less memory.
 *
 *               rent      = price [ns per MiB and second] x bytes x time        the setting HAKMEM_PRICE
 *               get again = a kernel call + pages x a page                      measured: retain/cost.h
 *
 *           Also here: the time as last read from the clock; as ticks where 16 bits must be enough.
 * owner     g_rent; now_ms is stored by each reader of the clock: release, big blocks, and src/runs for each MiB freed.
 * orders    Relaxed: an old time makes memory look older by less than the distance of two readings.
 * not here  Release of memory that has paid its rent: reclaim/release.c.
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
  uint64_t now_ms;   /* last read from the clock */
  uint64_t pressure; /* log2 of a factor on the price */
  uint64_t refused_ms; /* when the kernel last refused to take pages back, as with locked pages; 0: never */
  bool helpless;     /* the last attempt to start a background thread failed */
  uint64_t keeps_until_ms, keeps_bytes; /* hak_rent_keep_until */
};
extern HAK_HIDDEN struct hak_rent g_rent;

/* [bytes] of runs, and of big blocks, that stay without levels taken again where no other thread may release them
 * (retain/watermark.h). */
enum { HAK_RENT_UNHELPED = 4 << 20 };

/* [bytes] of runs, and of big blocks, that stay there at most, whatever was taken again: they may stay for ever after
 * the last of many rounds. */
enum { HAK_RENT_PROVED = 128 << 20 };

/* True where memory is dearer than any time that it saves. */
bool hak_rent_is_lean(void);

/* Until then [ms] free memory stays as at the price `speed`, if the price is higher, up to so many bytes of each kind:
 * the program is known to end sooner, or to need the memory again. 0 ms: no longer. Thread-safe. */
static inline void hak_rent_keep_until(uint64_t ms, uint64_t bytes) {
  hak_store(&g_rent.keeps_bytes, bytes);
  hak_store(&g_rent.keeps_until_ms, ms);
}

enum { HAK_TICK_MS = 64, HAK_TICKS_PER_SECOND = 1024 / HAK_TICK_MS, HAK_RENT_PATIENCE_MS = 1000 };

/* [ms] after which the rent of `bytes` free bytes equals the cost of getting the bytes again; at most a day. */
uint64_t hak_rent_ms(size_t bytes);

/* [ms] The same for a piece of many pages, 2 MiB: the keep time of runs and big blocks. */
static inline uint64_t hak_rent_piece_ms(void) { return hak_rent_ms((size_t)2 << 20); }

/* Keep times. 0: break-even, by the price. Up to HAK_KEEP_TOLD - 1: set for the owner of the memory, 64 ms and twice as
 * long each. From HAK_KEEP_TOLD on: the learnt arms, times the break-even time. */
enum { HAK_KEEP_TOLD = 16, HAK_KEEPS = HAK_KEEP_TOLD + HAK_ARMS, HAK_KEEP_LEAST_MS = 64 };
static_assert(HAK_KEEPS <= 32, "blocks/big_table.c has five bits for one, blocks/big_internal.h a mask");
uint64_t hak_keep_ms(unsigned keep);

static inline unsigned hak_keep_of_arm(unsigned arm) { return arm == HAK_ARM_BREAK_EVEN ? 0 : HAK_KEEP_TOLD + arm; }
static inline unsigned hak_keep_arm(unsigned keep) {
  return keep < HAK_KEEP_TOLD ? (unsigned)HAK_ARM_BREAK_EVEN : keep - HAK_KEEP_TOLD;
}

/* The least keep time of at least `ms` milliseconds, else the longest. 0 for 0. */
unsigned hak_keep_for(uint64_t ms);

/* [bytes] of free memory that needs no reuse to stay when other threads have ended: the next round of a loop, maybe. */
uint64_t hak_rent_keep_floor(void);

/* [bytes] of this kind's free memory that may stay: all if free memory costs nothing, none if memory is short. A kind
 * has the part 1 / 2^share_shift of the floor and of the slack for misfits. */
uint64_t hak_rent_keep_limit(const struct hak_watermark *level, unsigned share_shift);

/* True if runs and slabs learn keep times, or have learnt ones in mode frozen. */
static inline bool hak_rent_kinds_learn(void) {
  uint64_t mode = hak_setting(mode);
  if (HAK_LIKELY(mode <= HAK_MODE_BASELINE)) return false;
  return mode == HAK_MODE_FROZEN ? hak_load(&g_kinds_known) : hak_setting(learn_kinds) != 0;
}

/* [bytes] hak_rent_keep_limit for memory whose keep time was set: within that time no reuse is needed. */
uint64_t hak_rent_keep_limit_told(const struct hak_watermark *level);

/* The kernel refused to take pages back. All pages may be locked, so for 1 s nothing is released unless forced: an
 * attempt costs a few microseconds per MiB freed, and 1 s hardly matters to a process with locked pages. */
static inline void hak_rent_refused(void) { hak_store(&g_rent.refused_ms, hak_load(&g_rent.now_ms)); }
static inline bool hak_rent_is_refused(uint64_t now_ms) {
  uint64_t refused_ms = hak_load(&g_rent.refused_ms);
  return refused_ms != 0 && now_ms - refused_ms < HAK_RENT_PATIENCE_MS;
}

/* True if free memory is released at all: not at price 0, not while all is held, not while the kernel refuses. */
bool hak_rent_release_enabled(void);

/* True if free memory is released sooner or later: at no price 0, and not while all is held. */
bool hak_rent_is_due(void);

static inline uint16_t hak_rent_tick(void) { return (uint16_t)(hak_load(&g_rent.now_ms) / HAK_TICK_MS); }

#endif
