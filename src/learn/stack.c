/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stack.c: keep times of a kind of memory, by the number of live bytes; see stack.h.
 *
 * what      Waits are open from some quantum upward, as upper quanta fall first: the longest waits are at the top.
 */
#include "learn/stack.h"

#include <stdbool.h>
#include <string.h>

#include "base/bits.h"

enum { PAGE_LOG = 12, DOUBLED_MOST = 63 - HAK_STACK_LEAST_LOG - 6 };

static uint64_t bit(unsigned k) { return (uint64_t)1 << k; }

/* Bits below k. */
static uint64_t below(unsigned k) { return k < 64 ? bit(k) - 1 : UINT64_MAX; }

/* ---- quanta ---- */

/* Every second bit, from bit 0, moved together. */
static uint64_t even_bits(uint64_t bits) {
  uint64_t half = 0;
  for (unsigned k = 0; k < HAK_STACK_QUANTA / 2; k++) half |= (bits >> 2 * k & 1) << k;
  return half;
}

/* The arm of a kind for a quantum that was told of few waits or none. */
static void inherit_arm(struct hak_stack *stack, unsigned k) {
  stack->arm[k] = hak_leader_choose(&stack->kind, &stack->quantum[k]).arm ^ HAK_ARM_BREAK_EVEN;
}

/* The first byte of two joined quanta is the lower quantum's, so the lower row stays. */
static void double_quanta(struct hak_stack *stack) {
  enum { HALF = HAK_STACK_QUANTA / 2 };
  for (unsigned k = 1; k < HALF; k++) {
    stack->quantum[k] = stack->quantum[2 * k];
    stack->since[k] = stack->since[2 * k];
    stack->arm[k] = stack->arm[2 * k];
  }
  memset(&stack->quantum[HALF], 0, HALF * sizeof stack->quantum[0]);
  for (unsigned k = HALF; k < HAK_STACK_QUANTA; k++) inherit_arm(stack, k);
  stack->open = even_bits(stack->open);
  stack->live = (stack->live + 1) / 2;
  stack->doubled++;
}

static uint32_t quanta_of(const struct hak_stack *stack, uint64_t bytes) {
  uint64_t quantum = hak_stack_quantum_bytes(stack);
  return (uint32_t)hak_min(bytes / quantum + (bytes % quantum != 0), HAK_STACK_QUANTA);
}

static void make_room(struct hak_stack *stack, uint64_t bytes) {
  while (stack->doubled < DOUBLED_MOST && bytes > HAK_STACK_QUANTA * hak_stack_quantum_bytes(stack))
    double_quanta(stack);
}

/* ---- waits ---- */

static unsigned arm_of(const struct hak_stack *stack, unsigned k) { return stack->arm[k] ^ HAK_ARM_BREAK_EVEN; }

static uint64_t lasted_in_stack(const struct hak_stack *stack, unsigned k, uint64_t now) {
  return now - hak_min(stack->since[k], now);
}

static void close_wait(struct hak_stack *stack, unsigned k, struct hak_wait wait, struct hak_stack_score *score) {
  uint64_t pages = hak_stack_quantum_bytes(stack) >> PAGE_LOG;
  hak_leader_note(&stack->kind, &stack->quantum[k], wait);
  score->waits++;
  score->paid += pages * hak_wait_loss(wait, arm_of(stack, k));
  score->baseline += pages * hak_wait_loss(wait, HAK_ARM_BREAK_EVEN);
}

/* Ends the wait of quantum k, noted if there is time. */
static void end_wait(struct hak_stack *stack, unsigned k, struct hak_wait wait, const struct hak_stack_now *now,
                     struct hak_stack_score *score) {
  stack->open &= ~bit(k);
  if (score->waits < now->notes) close_wait(stack, k, wait, score);
  else score->skipped++;
}

static void end_outlasting(struct hak_stack *stack, const struct hak_stack_now *now, struct hak_stack_score *score) {
  uint64_t longest = hak_leader_longest(now->break_even);
  while (stack->open != 0) {
    unsigned k = hak_highest_bit(stack->open);
    if (lasted_in_stack(stack, k, now->now) <= longest) return;
    end_wait(stack, k, (struct hak_wait){UINT64_MAX, now->break_even, now->now}, now, score);
  }
}

static void rise(struct hak_stack *stack, uint32_t live, const struct hak_stack_now *now,
                 struct hak_stack_score *score) {
  for (uint64_t ends = stack->open & below(live); ends != 0; ends &= ends - 1) {
    unsigned k = hak_lowest_bit(ends);
    end_wait(stack, k, (struct hak_wait){lasted_in_stack(stack, k, now->now), now->break_even, now->now}, now, score);
  }
}

/* Without time for a choice the quantum's last arm holds. */
static void begin_wait(struct hak_stack *stack, unsigned k, const struct hak_stack_now *now,
                       struct hak_stack_score *score) {
  stack->since[k] = now->now;
  stack->open |= bit(k);
  if (score->waits >= now->notes) return;
  struct hak_choice choice = hak_leader_choose(&stack->kind, &stack->quantum[k]);
  score->decisions += choice.waits != 0 && choice.arm != choice.before;
  stack->arm[k] = choice.arm ^ HAK_ARM_BREAK_EVEN;
}

static void fall(struct hak_stack *stack, uint32_t live, const struct hak_stack_now *now,
                 struct hak_stack_score *score) {
  for (unsigned k = live; k < stack->live; k++) begin_wait(stack, k, now, score);
}

/* ---- bytes that may stay ---- */

/* When the wait of quantum k reaches the keep time of the chosen arm. */
static uint64_t end_of(const struct hak_stack *stack, unsigned k, uint64_t break_even) {
  uint64_t keep = hak_arm_time(arm_of(stack, k), break_even);
  return stack->since[k] > UINT64_MAX - keep ? UINT64_MAX : stack->since[k] + keep;
}

static void sum_up(struct hak_stack *stack, uint64_t now, uint64_t break_even) {
  stack->may_stay = stack->unproved = 0;
  stack->until = UINT64_MAX;
  stack->break_even = break_even;
  for (uint64_t open = stack->open; open != 0; open &= open - 1) {
    unsigned k = hak_lowest_bit(open);
    uint64_t end = end_of(stack, k, break_even);
    if (now >= end) continue;
    stack->until = hak_min(stack->until, end);
    bool known = hak_leader_knows(&stack->quantum[k]);
    *(known ? &stack->may_stay : &stack->unproved) += hak_stack_quantum_bytes(stack);
  }
}

void hak_stack_note(struct hak_stack *stack, const struct hak_stack_now *now, struct hak_stack_score *score) {
  make_room(stack, now->live_bytes);
  uint32_t live = quanta_of(stack, now->live_bytes);
  uint64_t open = stack->open;
  end_outlasting(stack, now, score);
  if (live > stack->live) rise(stack, live, now, score);
  else fall(stack, live, now, score);
  stack->live = live;
  if (stack->open != open || now->now >= stack->until || now->break_even != stack->break_even)
    sum_up(stack, now->now, now->break_even);
}

void hak_stack_forget_waits(struct hak_stack *stack) {
  stack->open = stack->may_stay = stack->unproved = 0;
  stack->until = UINT64_MAX;
}

/* ---- learnt rows, restored ---- */

unsigned hak_stack_begins(const struct hak_stack *stack, uint64_t mib) {
  uint64_t k = mib >> stack->doubled;
  return k < HAK_STACK_QUANTA && k << stack->doubled == mib ? (unsigned)k : (unsigned)HAK_STACK_QUANTA;
}

void hak_stack_restore(struct hak_stack *stack, unsigned k, unsigned arm, const struct hak_leader *as) {
  hak_leader_restore(&stack->quantum[k], arm, as);
  stack->arm[k] = (uint8_t)(arm ^ HAK_ARM_BREAK_EVEN);
  stack->until = 0; /* the next note sums up */
}

void hak_stack_restore_kind(struct hak_stack *stack, unsigned arm, const struct hak_leader *as) {
  hak_leader_restore(&stack->kind, arm, as);
  for (unsigned k = 0; k < HAK_STACK_QUANTA; k++) inherit_arm(stack, k);
  stack->until = 0;
}
