/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ucb.h: the cheapest of a few arms, when only the cost of the arm taken is seen.
 *
 * what      UCB1 (Auer, Cesa-Bianchi and Fischer, 2002), with optional decay (discounted UCB: Garivier and Moulines,
 *           2011), for costs instead of rewards. The arm with the least optimistic cost is chosen, on a tie the lower
 *           number:
 *
 *               mean cost of the arm  -  sqrt(width x ln(pulls of all arms) / pulls of the arm)
 *
 *           Costs are in 0 .. HAK_UCB_RANGE, the caller's range. Width is 2 in the paper of 2002; above 1/4 is enough
 *           for regret that grows with the logarithm (Bubeck, 2010), and 1/2 is usual here. With decay a pull counts
 *           2^-decay_log less at each later pull of any arm, so an arm left alone for long has few pulls and is tried
 *           again. An arm without pulls goes first; a dropped arm is never taken. No random numbers, no floating point.
 * owner     The caller, which serializes all calls. All zeros: nothing learnt.
 * failure   A cost above the range counts as the range. Without decay 2^32 pulls fit.
 * not here  The meaning and the cost of an arm: the caller. The worth of the constants: lab/docs/learners.md.
 */
#ifndef HAK_LEARN_UCB_H
#define HAK_LEARN_UCB_H

#include <stdbool.h>
#include <stdint.h>

enum { HAK_UCB_ARMS = 6, HAK_UCB_RANGE = 1 << 16 };

struct hak_ucb_rules {
  uint32_t arms;      /* 1 .. HAK_UCB_ARMS */
  uint32_t decay_log; /* 0: no decay; else 2^decay_log pulls are remembered */
  uint32_t width;     /* [1/4] */
};

static inline struct hak_ucb_rules hak_ucb_usual(uint32_t arms) {
  return (struct hak_ucb_rules){.arms = arms, .decay_log = 12, .width = 2};
}

struct hak_ucb {
  uint64_t pulls[HAK_UCB_ARMS]; /* 1 << 16 is a pull */
  uint64_t cost[HAK_UCB_ARMS];  /* 1 << 16 is a pull at the full range */
  uint32_t dropped;             /* bit: arm */
};

/* The arm to take next. */
uint32_t hak_ucb_choose(const struct hak_ucb *ucb, struct hak_ucb_rules rules);

/* Notes the cost of the arm taken. */
void hak_ucb_note(struct hak_ucb *ucb, struct hak_ucb_rules rules, uint32_t arm, uint32_t cost);

/* Excludes this arm for ever. At least an arm must be left. */
void hak_ucb_drop(struct hak_ucb *ucb, uint32_t arm);

/* Puts the pulls of an arm in place, [whole pulls] and their cost [1 << 16: a pull at the full range], and drops the
 * arm if so, unless no other arm is left. */
void hak_ucb_restore(struct hak_ucb *ucb, struct hak_ucb_rules rules, uint32_t arm, uint64_t pulls, uint64_t cost,
                     bool dropped);

/* The mean cost of the arm; 0 without pulls. */
uint64_t hak_ucb_mean(const struct hak_ucb *ucb, uint32_t arm);

/* The second term of the bound, 1 << 16 is the range. all, pulls: 1 << 16 is a pull; 0 < pulls <= all. */
uint64_t hak_ucb_bonus(uint64_t all, uint64_t pulls, uint32_t width);

#endif
