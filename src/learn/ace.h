/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ace.h: the capacity of a class's magazine, adapted to the cost of slow calls and of idle bytes.
 *
 * what      Adaptive control of a capacity, on a ladder of doublings. A slow call is a call that takes the slow path
 *           (a refill or a flush). A window costs
 *
 *               slow calls x ns per slow call  +  price x bytes held x time
 *
 *           and the cost a rung higher or lower is modelled from the window's counters. A slow call moves d(c) blocks:
 *           half of the capacity c, at most `most_moved`. A demand that rises and falls by s blocks, n times, takes
 *
 *               slow(c) = 2 n x (s - c) / d(c),        turns = 2 n: a refill after a flush, or a flush after a refill
 *               slow(2 c) = (d(c) slow(c) - c turns) / d(2 c)
 *               slow(c / 2) = (d(c) slow(c) + c / 2 turns) / d(c / 2)
 *
 *           In a window without a slow call, the most and the least blocks held say whether half of the capacity would
 *           have been enough; if not, the window counts as a single swing of that height. Bytes held are taken as
 *           proportional to the capacity. Windows are summed; a sum loses the part 2^-memory at each new window. The
 *           capacity moves to a neighbour rung if the neighbour's sum is less by the margin; the sums then become
 *           those of the neighbour. A move down that is soon undone bars further moves down while the demand swings,
 *           each time for twice as long; without swings a move down is always allowed.
 * owner     The caller, which serializes all calls. All zeros: nothing learnt, the lowest rung.
 * failure   Clamped: a window to 2^24 us (16 s), a price to 2^24, the time of a slow call to 2^20 ns.
 * not here  The counters, the price and the magazine: the caller. Figures: lab/docs/learners.md.
 */
#ifndef HAK_LEARN_ACE_H
#define HAK_LEARN_ACE_H

#include <stdbool.h>
#include <stdint.h>

struct hak_ace_rules {
  uint32_t lowest;     /* [blocks] capacity of rung 0: a power of two, at least 4 */
  uint32_t rungs;      /* at least 1 */
  uint32_t most_moved; /* [blocks] that a slow call moves at most, at least 1 */
  uint32_t slow_call_ns;
  uint32_t price;      /* [ns per MiB and second] */
  uint32_t margin;     /* [1/64] by which a neighbour must be cheaper */
  uint32_t memory;     /* a sum loses 2^-memory per window; at most 8 */
  uint32_t wait_log;   /* the first bar on moves down lasts 2^wait_log windows */
  uint32_t soon;       /* [windows] a move down undone within `soon` raises the bar */
};

static inline struct hak_ace_rules hak_ace_usual(uint32_t slow_call_ns, uint32_t price) {
  return (struct hak_ace_rules){
      .lowest = 8, .rungs = 8, .most_moved = 1u << 20, .slow_call_ns = slow_call_ns, .price = price, .margin = 8,
      .memory = 4, .wait_log = 4, .soon = 8};
}

/* Counters of a window. */
struct hak_ace_window {
  uint32_t refills, flushes, turns;
  uint32_t most, least; /* [blocks] held */
  uint32_t us;
  uint64_t held;        /* [bytes] mean */
};

enum { HAK_ACE_SUMS = 4 };
#define HAK_ACE_SUM_MOST (((uint64_t)1 << 44) - 1) /* of a sum that is put in place */

struct hak_ace {
  /* Decayed sums. slow_calls: at the rung below, at this rung, at the rung above; 1 << 8 is a slow call. rent: at this
   * rung; 1 << 4 is a ns. */
  uint64_t slow_calls[3], rent;
  uint32_t bar;       /* [windows] until moves down are allowed although the demand swings */
  uint8_t rung, wait; /* wait: doublings of the bar */
  uint8_t since_down; /* [windows] since the last move down, at most 255; 0: no such move */
};

static inline uint32_t hak_ace_capacity(const struct hak_ace *ace, struct hak_ace_rules rules) {
  return rules.lowest << ace->rung;
}

/* The sums, three of slow calls and the rent, as numbers of a policy. hak_ace_restore: a rung, with its sums. */
void hak_ace_sums(const struct hak_ace *ace, uint64_t sum[HAK_ACE_SUMS]);
void hak_ace_restore(struct hak_ace *ace, uint8_t rung, const uint64_t sum[HAK_ACE_SUMS]);

/* [ns] Slow calls, and the rent of the blocks held, in a window. */
uint64_t hak_ace_paid(struct hak_ace_rules rules, const struct hak_ace_window *window);

/* Notes a window. True if the capacity changed. */
bool hak_ace_note(struct hak_ace *ace, struct hak_ace_rules rules, const struct hak_ace_window *window);

#endif
