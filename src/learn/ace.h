/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ace.h: how many free blocks of one class are worth keeping at hand.
 *
 * what      Adaptive control of a capacity, on a ladder of doublings. A window costs
 *
 *               slow doors x ns of one  +  price x bytes held x time
 *
 *           and what it would have cost a rung higher or lower is modelled from its counters. A door moves d(c) blocks,
 *           half of the capacity c or `most_door`, so a demand that rises and falls by s blocks, n times, takes
 *
 *               doors(c) = 2 n x (s - c) / d(c),       turns = 2 n: a refill after a flush, or a flush after a refill
 *               doors(2 c) = (d(c) doors(c) - c turns) / d(2 c)
 *               doors(c / 2) = (d(c) doors(c) + c / 2 turns) / d(c / 2)
 *
 *           A window without a door says by the most and the least that lay there whether half would have done; if not,
 *           it is taken for one swing of that height. Bytes held go with the capacity. Windows are summed, each
 *           counting 2^-memory less at each that follows; a neighbour is taken when its sum is less by the margin, and
 *           the sums are those of the neighbour then. A move down that must be taken back bars such moves while the
 *           swings last, for a time that doubles; where nothing swings any more, half is always allowed.
 * owner     The caller, who has one thread in here at a time. All zeros is who knows nothing: the lowest rung.
 * failure   A window longer than 16 s, a price above 2^24 or a door above 2^20 ns counts as that.
 * not here  The counters, the price and the magazine: the caller. Figures: lab/docs/learners.md.
 */
#ifndef HAK_LEARN_ACE_H
#define HAK_LEARN_ACE_H

#include <stdbool.h>
#include <stdint.h>

struct hak_ace_rules {
  uint32_t lowest;   /* blocks, a power of two, 4 or more */
  uint32_t rungs;    /* 1 or more */
  uint32_t most_moved; /* blocks that a door moves at most, 1 or more */
  uint32_t slow_call_ns;
  uint32_t price;    /* ns for a MiB and second */
  uint32_t margin;   /* of 64 parts */
  uint32_t memory;   /* 2^memory windows are remembered; 8 at most */
  uint32_t wait_log; /* the first bar on moves down, 2^wait_log windows */
  uint32_t soon;     /* windows within which a move down that is taken back counts as one that had to be */
};

static inline struct hak_ace_rules hak_ace_usual(uint32_t slow_call_ns, uint32_t price) {
  return (struct hak_ace_rules){
      .lowest = 8, .rungs = 8, .most_moved = 1u << 20, .slow_call_ns = slow_call_ns, .price = price, .margin = 8,
      .memory = 4, .wait_log = 4, .soon = 8};
}

/* What is counted in a window. */
struct hak_ace_window {
  uint32_t refills, flushes, turns;
  uint32_t most, least; /* blocks at hand */
  uint32_t us;
  uint64_t held; /* bytes, on average */
};

struct hak_ace {
  uint64_t slow_calls[3], rent; /* 1 << 8 is a door, 1 << 4 is a ns; of the rung below, this one, the one above */
  uint32_t bar;            /* windows until a move down that may turn out wrong */
  uint8_t rung, wait;      /* wait: doublings of the bar */
  uint8_t since_down;      /* windows since the last move down, 255 at most; 0: there was none */
};

static inline uint32_t hak_ace_capacity(const struct hak_ace *ace, struct hak_ace_rules rules) {
  return rules.lowest << ace->rung;
}

/* True when the capacity is another one from here on. */
bool hak_ace_note(struct hak_ace *ace, struct hak_ace_rules rules, const struct hak_ace_window *window);

#endif
