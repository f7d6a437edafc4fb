/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rent.c: the cost of keeping free memory.
 *
 * what      The price turned into a time; see rent.h.
 * owner     g_rent.
 * not here  The cost of a page on this machine: retain/cost.h.
 */
#include "retain/rent.h"

#include "os/allowed.h"
#include "os/alone.h"
#include "os/os.h"
#include "os/thread.h"
#include "retain/cost.h"
#include "tables/settings.h"
#include "tables/snapshot.h"

enum { PAGES_MAX = 1 << 20, DAY_MS = 86400000, NS_MAX = 10000000 };

struct hak_rent g_rent;

/* lean: prices above LEAN; speed: prices up to SPEED; KEEPS: that of the word `speed` */
enum { LEAN = 2000000, SPEED = 80000, KEEPS = 8500 };

static bool keeps_now(void) {
  uint64_t until_ms = hak_load(&g_rent.keeps_until_ms);
  return HAK_UNLIKELY(until_ms != 0) && hak_load(&g_rent.now_ms) < until_ms;
}

static HAK_NOINLINE uint64_t price_kept(uint64_t price) { return keeps_now() ? hak_min(price, KEEPS) : price; }

/* The price in force. */
static uint64_t price_now(void) {
  uint64_t price = hak_setting(price);
  return HAK_LIKELY(hak_load(&g_rent.keeps_until_ms) == 0) ? price : price_kept(price);
}

/* Pages are the kernel's, as is the measured cost of one; of 64 KiB at most. A page's rent for a millisecond is
 * price * its bytes / 1 MiB / 1000 ns. */
uint64_t hak_rent_ms(size_t bytes) {
  unsigned page_shift = hak_lowest_bit(hak_os_page_bytes());
  uint64_t pages = hak_max(hak_min(bytes >> page_shift, PAGES_MAX), 1);
  uint64_t price = price_now() << hak_load(&g_rent.pressure);
  uint64_t call = hak_min(hak_cost_call(), NS_MAX), page = hak_min(hak_cost_page(), NS_MAX);
  uint64_t cost = (call + pages * page) * 1000 << (20 - page_shift);
  return price == 0 ? DAY_MS : hak_min(cost / pages / price, DAY_MS);
}

bool hak_rent_is_lean(void) { return price_now() > LEAN; }

/* [percent of the most live bytes] that may stay besides. Measured (bench rows kept_slots): with 5 instead of 28, k
 * slots of mixed sizes replace 1/3 to 1/5 as many blocks a second; with 42, up to 1/10 more. */
HAK_INLINE uint64_t slack_by_price(void) {
  enum { LITTLE = 5, SOME = 28, MUCH = 42 };
  uint64_t price = price_now();
  return price > LEAN ? LITTLE : price > SPEED ? SOME : MUCH;
}

HAK_INLINE uint64_t slack_percent(void) {
  unsigned arm = hak_decided(HAK_DECIDED_slack);
  return HAK_LIKELY(arm == 0) ? slack_by_price() : hak_arm_slack(arm);
}

/* True if another thread may come to release what its reuse keeps. Else free memory may stay for ever: in a program of
 * one thread, in a sandbox, and where the setting forbids the background thread or none could start. */
static HAK_NOINLINE bool is_helped(void) {
  bool forbidden = !hak_load(&g_allowed) || hak_setting(background_thread) == 0 || hak_load(&g_rent.helpless);
  return !hak_is_single_threaded() && hak_os_threads_seen() != 1 && !hak_os_is_filtered() && !forbidden;
}

/* Where speed is wanted no reuse is needed. */
uint64_t hak_rent_keep_floor(void) {
  uint64_t price = price_now();
  return price > LEAN ? HAK_RENT_UNHELPED : price > SPEED ? HAK_WATERMARK_LEAST : UINT64_MAX;
}

static HAK_NOINLINE uint64_t unhelped_limit(const struct hak_watermark *level, uint64_t slack, unsigned share_shift) {
  uint64_t stay = hak_watermark_keep_limit(level, (uint64_t)HAK_RENT_UNHELPED >> share_shift, slack);
  stay = hak_watermark_bounded(level, stay, HAK_RENT_UNHELPED);
  return hak_min(stay, HAK_RENT_PROVED);
}

/* [bytes] that stay at most by hak_rent_keep_until. */
HAK_INLINE uint64_t kept_most(void) {
  return HAK_UNLIKELY(keeps_now()) && hak_setting(price) > SPEED ? hak_load(&g_rent.keeps_bytes) : UINT64_MAX;
}

HAK_INLINE uint64_t keep_limit(const struct hak_watermark *level, uint64_t least, unsigned share_shift) {
  if (hak_holds_all()) return UINT64_MAX;
  if (HAK_UNLIKELY(hak_load(&g_rent.pressure) != 0)) return 0;
  uint64_t price = price_now();
  if (price == 0) return UINT64_MAX;
  /* without misfits the slack has no effect */
  uint64_t slack = level->misfit != 0 ? slack_percent() >> share_shift : 0;
  least = price > SPEED ? least >> share_shift : UINT64_MAX;
  uint64_t stay = hak_watermark_keep_limit(level, least, slack);
  bool much = HAK_UNLIKELY(stay > (uint64_t)HAK_RENT_UNHELPED >> share_shift) && least != UINT64_MAX;
  if (much && !is_helped()) stay = unhelped_limit(level, slack, share_shift);
  return hak_max(hak_min(stay, kept_most()), hak_load(&g_hold_floor));
}

uint64_t hak_rent_keep_limit(const struct hak_watermark *level, unsigned share_shift) {
  return keep_limit(level, HAK_WATERMARK_LEAST, share_shift);
}

uint64_t hak_rent_keep_limit_told(const struct hak_watermark *level) { return keep_limit(level, UINT64_MAX, 0); }

uint64_t hak_keep_ms(unsigned keep) {
  if (keep >= HAK_KEEP_TOLD) return hak_arm_time(hak_keep_arm(keep), hak_rent_piece_ms());
  return keep == 0 ? hak_rent_piece_ms() : (uint64_t)HAK_KEEP_LEAST_MS << (keep - 1);
}

unsigned hak_keep_for(uint64_t ms) {
  unsigned keep = ms == 0 ? 0 : 1;
  while (keep != 0 && keep < HAK_KEEP_TOLD - 1 && hak_keep_ms(keep) < ms) keep++;
  return keep;
}

bool hak_rent_is_due(void) { return hak_setting(price) != 0 && !hak_holds_all(); }

bool hak_rent_release_enabled(void) { return hak_rent_is_due() && !hak_rent_is_refused(hak_os_now_ms()); }
