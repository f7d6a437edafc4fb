/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stack.h: keep times of a kind of memory, by how high its level stands.
 *
 * what      A kind has a level, the bytes of it that are live. What is free serves what comes back, last in, first out,
 *           so the k-th byte waits from when the level fell below k until it rises above k again. The axis is divided
 *           in quanta, the first byte of which stands for all; each has a row of a leader (leader.h), and inherits from
 *           that of the kind:
 *
 *               quantum 3  |   ____________                          ______
 *               quantum 2  |   |          |        wait of 3         |    |
 *               quantum 1  |   |          |____   __________   ______|    |______  wait of 1 is open
 *               quantum 0  |___|               |_|          |_|                    live
 *                          +-------------------------------------------------------- time
 *
 *           What may stay are the quanta that wait for less than the time that was learnt for them:
 *
 *               may stay  =  sum over waits that are open of  quantum x [now - since < T of its arm]
 *
 *           A quantum is 1 MiB, and twice as much as often as 64 do not hold what is live: then each is joined with the
 *           one above. A wait that outlasts the longest arm is noted as one that never ends.
 * owner     The caller, who has one thread in here at a time. All zeros knows nothing.
 * failure   A clock that was set back makes waits of nothing. Notes that there is no time for are left out: `notes`.
 * not here  Of the quanta whose own row knows little, how much must prove itself: retain/watermark.h. The clock, the
 *           price, the budget: the caller.
 */
#ifndef HAK_LEARN_STACK_H
#define HAK_LEARN_STACK_H

#include "learn/leader.h"

enum { HAK_STACK_QUANTA = 64, HAK_STACK_LEAST_LOG = 20 };

struct hak_stack {
  struct hak_leader kind, quantum[HAK_STACK_QUANTA];
  uint64_t since[HAK_STACK_QUANTA]; /* when the level fell below; of those that wait */
  uint8_t arm[HAK_STACK_QUANTA];    /* chosen then; its bits that differ from break-even's */
  uint64_t open;                    /* bit k: quantum k waits */
  uint64_t may_stay, unproved;      /* bytes, as last noted: of quanta whose rows know; of the others */
  uint64_t until;                   /* from then on it is less */
  uint64_t break_even;              /* as last noted */
  uint32_t live;                    /* quanta, the last one in part */
  uint32_t doubled;                 /* a quantum is 1 MiB << doubled */
};

/* What the level is, and when. */
struct hak_stack_now {
  uint64_t live_bytes, now, break_even;
  uint32_t notes; /* that there is time for */
};

/* Waits that were noted, arms that were chosen anew, and what the waits cost at their arms and would have at
 * break-even: 1 << 16 is a page of 4 KiB fetched. */
struct hak_stack_score {
  uint32_t waits, skipped, decisions;
  uint64_t paid, baseline;
};

/* The level is so high from now on, or is still; `may_stay` and `unproved` are of now. */
void hak_stack_note(struct hak_stack *stack, const struct hak_stack_now *now, struct hak_stack_score *score);

/* What waits is not known: nothing does. What was learnt stays. */
void hak_stack_forget_waits(struct hak_stack *stack);

static inline uint64_t hak_stack_quantum_bytes(const struct hak_stack *stack) {
  return (uint64_t)1 << (HAK_STACK_LEAST_LOG + stack->doubled);
}

#endif
