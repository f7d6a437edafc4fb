/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kinds.h: for how long runs and slabs stay free, by how high their level stands.
 *
 * what      Two functions of tables/learning.h: each kind has a stack (stack.h), and its sums are published.
 *
 *               level noted --> stack: waits close, arms are chosen --> struct hak_kind --> retain/watermark.c
 *
 *           Each kind has its share of the time (base/time_budget.h).
 * owner     g_kinds (in kinds.c), a kind by the holder of its level's lock.
 * not here  Which arm: stack.h. How much may stay by that: retain/watermark.h.
 */
#ifndef HAK_LEARN_KINDS_H
#define HAK_LEARN_KINDS_H

#include "tables/learning.h"

/* As tables/learning.h says. */
struct hak_kind *hak_kinds_begin(enum hak_kind_id id);
void hak_kinds_noted(struct hak_kind *kind, uint64_t live, uint64_t break_even_ms, uint64_t now_ms);

#endif
