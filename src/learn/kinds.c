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
#include "reclaim/release.h"
#include "retain/cost.h"
#include "runs/runs.h"
#include "tables/counters.h"
#include "tables/settings.h"

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
  hak_store(&g_kinds_known, true);
  hak_stack_forget_waits(&learner->stack);
  publish_sums(learner);
  return &learner->told;
}

static void note_quanta(struct kind_learner *learner, uint64_t live, uint64_t break_even_ms, uint64_t now_ms) {
  struct hak_stack_score score = {0};
  if (hak_time_budget_is_over(&learner->budget, now_ms)) hak_time_budget_begin(&learner->budget, now_ms);
  uint64_t begun_ns = learner->budget.timed ? 0 : hak_os_now_ns();
  struct hak_stack_now now = {live, now_ms, break_even_ms, learner->budget.left};
  hak_stack_note(&learner->stack, &now, &score);
  spend_notes(&learner->budget, score.waits, begun_ns);
  if ((score.waits | score.skipped | score.decisions) != 0) count_waits(&score);
}

static void follow_quanta(struct kind_learner *learner, uint64_t live, uint64_t break_even_ms, uint64_t now_ms) {
  struct hak_stack_score score = {0};
  struct hak_stack_now now = {live, now_ms, break_even_ms, 0};
  hak_stack_note(&learner->stack, &now, &score);
}

void hak_kinds_noted(struct hak_kind *kind, uint64_t live, uint64_t break_even_ms, uint64_t now_ms) {
  struct kind_learner *learner = (struct kind_learner *)kind;
  bool frozen = hak_setting(mode) == HAK_MODE_FROZEN;
  if (frozen) follow_quanta(learner, live, break_even_ms, now_ms);
  else note_quanta(learner, live, break_even_ms, now_ms);
  publish_sums(learner);
}

/* ---- rows of a policy ---- */

static bool hold_kind(unsigned id) {
  return id == HAK_KIND_SLABS ? hak_release_hold() : hak_runs_hold();
}

static void let_kind_go(unsigned id) {
  if (id == HAK_KIND_SLABS) hak_release_let_go();
  else hak_runs_let_go();
}

/* ARM WAITS PAID x 8 */
static bool put_leader(const struct hak_leader *row, uint64_t *number) {
  number[0] = hak_leader_arm(row);
  number[1] = row->weight;
  for (unsigned arm = 0; arm < HAK_ARMS; arm++) number[2 + arm] = row->paid[arm];
  return row->weight != 0;
}

static struct hak_leader leader_of(const uint64_t *number) {
  struct hak_leader row = {.weight = (uint16_t)number[1]};
  for (unsigned arm = 0; arm < HAK_ARMS; arm++) row.paid[arm] = (uint32_t)number[2 + arm];
  return row;
}

bool hak_kinds_out(unsigned id, unsigned place, uint64_t *number) {
  (void)place;
  if (!hold_kind(id)) return false;
  bool any = put_leader(&g_kinds[id].stack.kind, number);
  let_kind_go(id);
  return any;
}

bool hak_kinds_in(unsigned id, const uint64_t *number, enum hak_row_use use) {
  struct hak_leader row = leader_of(number);
  struct hak_stack *stack = &g_kinds[id].stack;
  if (!hold_kind(id)) return false;
  if (use == HAK_ROW_TAKE) hak_stack_restore_kind(stack, (unsigned)number[0], &row);
  if (use == HAK_ROW_JOIN && stack->kind.weight != 0) hak_leader_join(&stack->kind, &row);
  let_kind_go(id);
  if (use == HAK_ROW_TAKE) hak_store(&g_kinds_known, true);
  return false;
}

bool hak_kinds_level_out(unsigned id, unsigned k, uint64_t *number) {
  const struct hak_stack *stack = &g_kinds[id].stack;
  if (!hold_kind(id)) return false;
  number[0] = (uint64_t)k << stack->doubled;
  bool any = put_leader(&stack->quantum[k], number + 1) && number[0] <= HAK_KINDS_MIB_MOST;
  let_kind_go(id);
  return any;
}

bool hak_kinds_level_in(unsigned id, const uint64_t *number, enum hak_row_use use) {
  struct hak_leader row = leader_of(number + 1);
  struct hak_stack *stack = &g_kinds[id].stack;
  if (!hold_kind(id)) return false;
  unsigned k = hak_stack_begins(stack, number[0]);
  bool joins = use == HAK_ROW_JOIN && k != HAK_STACK_QUANTA && stack->quantum[k].weight != 0;
  if (use == HAK_ROW_TAKE && k != HAK_STACK_QUANTA) hak_stack_restore(stack, k, (unsigned)number[1], &row);
  if (joins) hak_leader_join(&stack->quantum[k], &row);
  let_kind_go(id);
  return false;
}
