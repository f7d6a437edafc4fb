/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ucb.h: which of a few arms costs least, when only the cost of the arm that is taken is seen.
 *
 * what      UCB1 (Auer, Cesa-Bianchi and Fischer, 2002), decayed if wanted (discounted UCB: Garivier and Moulines,
 *           2011), for costs instead of rewards. The arm with the least optimistic cost is chosen; lower number at a
 *           tie:
 *
 *               mean cost of the arm  -  sqrt(width x ln(pulls of all arms) / pulls of the arm)
 *
 *           Costs are of 0 .. HAK_UCB_RANGE, the caller's range. Width is 2 in the paper of 2002; above 1/4 is enough
 *           for regret that grows with the logarithm (Bubeck, 2010), and 1/2 is usual here. With decay a pull counts
 *           2^-decay_log less at each that follows, whichever arm it was, so an arm that is left alone for long has few
 *           pulls and is tried anew. An arm without pulls goes first; one that was dropped is never taken.
 *           Nothing is random, nothing is a fraction.
 * owner     The caller, who has one thread in here at a time. All zeros is who knows nothing.
 * failure   A cost above the range counts as the range. Without decay 2^32 pulls fit.
 * not here  What an arm is and what it costs: the caller. What the constants are worth: lab/docs/learners.md.
 */
#ifndef HAK_LEARN_UCB_H
#define HAK_LEARN_UCB_H

#include <stdint.h>

enum { HAK_UCB_ARMS = 6, HAK_UCB_RANGE = 1 << 16 };

struct hak_ucb_rules {
  uint32_t arms;      /* 1 .. HAK_UCB_ARMS */
  uint32_t decay_log; /* 0: nothing is forgotten; else 2^decay_log pulls are remembered */
  uint32_t width;     /* in quarters */
};

static inline struct hak_ucb_rules hak_ucb_usual(uint32_t arms) {
  return (struct hak_ucb_rules){.arms = arms, .decay_log = 12, .width = 2};
}

struct hak_ucb {
  uint64_t pulls[HAK_UCB_ARMS]; /* 1 << 16 is a pull */
  uint64_t cost[HAK_UCB_ARMS];  /* 1 << 16 is a pull at the whole range */
  uint32_t dropped;             /* a bit an arm */
};

/* The arm to take next. */
uint32_t hak_ucb_choose(const struct hak_ucb *ucb, struct hak_ucb_rules rules);

/* What the arm that was taken cost. */
void hak_ucb_note(struct hak_ucb *ucb, struct hak_ucb_rules rules, uint32_t arm, uint32_t cost);

/* Never takes this arm again. One at least must be left. */
void hak_ucb_drop(struct hak_ucb *ucb, uint32_t arm);

/* Of its costs; 0 without pulls. */
uint64_t hak_ucb_mean(const struct hak_ucb *ucb, uint32_t arm);

/* The second term of the bound, 1 << 16 is the range; both counts 1 << 16 a pull, pulls <= all, pulls != 0. */
uint64_t hak_ucb_bonus(uint64_t all, uint64_t pulls, uint32_t width);

#endif
