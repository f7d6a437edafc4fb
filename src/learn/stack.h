/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stack.h: keep times of a kind of memory, by the number of live bytes.
 *
 * what      Free memory of a kind serves requests last in, first out, so the k-th byte waits from when the live bytes
 *           fall below k until the live bytes rise above k again. The axis is divided into quanta; the first byte of a
 *           quantum stands for the whole. Each quantum has a row of a leader (leader.h), which inherits from the row of
 *           the kind:
 *
 *               quantum 3  |   ____________                          ______
 *               quantum 2  |   |          |        wait of 3         |    |
 *               quantum 1  |   |          |____   __________   ______|    |______  wait of 1 is open
 *               quantum 0  |___|               |_|          |_|                    live
 *                          +-------------------------------------------------------- time
 *
 *           A quantum may stay while the wait is shorter than the learnt keep time:
 *
 *               may stay  =  sum over open waits of  quantum x [now - since < T of the wait's arm]
 *
 *           A quantum is 1 MiB, and doubles each time that 64 quanta do not hold the live bytes: each quantum is joined
 *           with the quantum above. A wait that outlasts the longest arm is noted as a wait for ever.
 * owner     The caller, which serializes all calls. All zeros: nothing learnt.
 * failure   A clock that was set back: waits of length 0. Waits beyond `notes` are not noted.
 * not here  How much of the quanta whose row knows little may stay: retain/watermark.h. The clock, the price, the time
 *           budget: the caller.
 */
#ifndef HAK_LEARN_STACK_H
#define HAK_LEARN_STACK_H

#include "learn/leader.h"

enum { HAK_STACK_QUANTA = 64, HAK_STACK_LEAST_LOG = 20 };

struct hak_stack {
  struct hak_leader kind, quantum[HAK_STACK_QUANTA];
  uint64_t since[HAK_STACK_QUANTA]; /* when the live bytes fell below; only of quanta that wait */
  uint8_t arm[HAK_STACK_QUANTA];    /* chosen then, XOR HAK_ARM_BREAK_EVEN */
  uint64_t open;                    /* bit k: quantum k waits */
  uint64_t may_stay, unproved;      /* [bytes] at the last note: of quanta whose row knows; of the rest */
  uint64_t until;                   /* when may_stay or unproved will fall */
  uint64_t break_even;              /* at the last note */
  uint32_t live;                    /* [quanta] live, the last quantum in part */
  uint32_t doubled;                 /* a quantum is 1 MiB << doubled */
};

/* A note: live bytes, and when. */
struct hak_stack_now {
  uint64_t live_bytes, now, break_even;
  uint32_t notes; /* waits that there is time to note */
};

/* Waits noted, waits not noted, arms changed; and the cost of the noted waits at the chosen arms and at break-even:
 * 1 << 16 is a page of 4 KiB fetched. */
struct hak_stack_score {
  uint32_t waits, skipped, decisions;
  uint64_t paid, baseline;
};

/* Notes the live bytes, changed or not, and brings `may_stay` and `unproved` up to date. */
void hak_stack_note(struct hak_stack *stack, const struct hak_stack_now *now, struct hak_stack_score *score);

/* Drops the open waits, which are no longer known. Learnt rows stay. */
void hak_stack_forget_waits(struct hak_stack *stack);

/* Learnt rows, as of a policy. hak_stack_begins: the quantum that begins with this MiB; HAK_STACK_QUANTA: none.
 * hak_stack_restore: puts the row of a quantum in place. hak_stack_restore_kind: the row that all quanta inherit from,
 * by which each chooses anew. Where there is no time for notes a quantum keeps the arm of then. */
unsigned hak_stack_begins(const struct hak_stack *stack, uint64_t mib);
void hak_stack_restore(struct hak_stack *stack, unsigned k, unsigned arm, const struct hak_leader *as);
void hak_stack_restore_kind(struct hak_stack *stack, unsigned arm, const struct hak_leader *as);

static inline uint64_t hak_stack_quantum_bytes(const struct hak_stack *stack) {
  return (uint64_t)1 << (HAK_STACK_LEAST_LOG + stack->doubled);
}

#endif
