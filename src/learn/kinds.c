/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kinds.c: keep times of free runs and slabs.
 *
 * what      See kinds.h.
 * owner     g_kinds.
 */
#include "learn/kinds.h"

#include "base/bits.h"
#include "base/time_budget.h"
#include "learn/stack.h"
#include "os/os.h"
#include "retain/cost.h"
#include "tables/counters.h"

/* All zeros: nothing learnt. */
struct kind_learner {
  struct hak_kind told; /* first: the watermark's pointer is cast back */
  struct hak_stack stack;
  struct hak_time_budget budget;
};
static HAK_RARE struct kind_learner g_kinds[HAK_KINDS];

static void count_waits(const struct hak_stack_score *score) {
  hak_count(HAK_COUNTER_kinds_waits, score->waits);
  hak_count(HAK_COUNTER_kinds_skipped, score->skipped);
  hak_count(HAK_COUNTER_kinds_decisions, score->decisions);
  hak_count(HAK_COUNTER_kinds_paid_ns, (score->paid >> 16) * hak_cost_page());
  hak_count(HAK_COUNTER_kinds_base_ns, (score->baseline >> 16) * hak_cost_page());
}

static void spend_notes(struct hak_time_budget *budget, uint32_t notes, uint64_t begun_ns) {
  budget->left = budget->left > notes ? budget->left - notes : 0;
  if (notes != 0 && begun_ns != 0) hak_time_budget_time(budget, (hak_os_now_ns() - begun_ns) / notes);
}

static void publish_sums(struct kind_learner *learner) {
  const struct hak_stack *stack = &learner->stack;
  learner->told = (struct hak_kind){stack->may_stay, stack->unproved, stack->live * hak_stack_quantum_bytes(stack)};
}

struct hak_kind *hak_kinds_begin(enum hak_kind_id id) {
  struct kind_learner *learner = &g_kinds[id];
  hak_stack_forget_waits(&learner->stack);
  publish_sums(learner);
  return &learner->told;
}

void hak_kinds_noted(struct hak_kind *kind, uint64_t live, uint64_t break_even_ms, uint64_t now_ms) {
  struct kind_learner *learner = (struct kind_learner *)kind;
  struct hak_stack_score score = {0};
  if (hak_time_budget_is_over(&learner->budget, now_ms)) hak_time_budget_begin(&learner->budget, now_ms);
  uint64_t begun_ns = learner->budget.timed ? 0 : hak_os_now_ns();
  struct hak_stack_now now = {live, now_ms, break_even_ms, learner->budget.left};
  hak_stack_note(&learner->stack, &now, &score);
  spend_notes(&learner->budget, score.waits, begun_ns);
  publish_sums(learner);
  if ((score.waits | score.skipped | score.decisions) != 0) count_waits(&score);
}
