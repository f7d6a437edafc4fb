/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kinds.h: keep times of free runs and slabs, learnt by the number of live bytes.
 *
 * what      Two functions of tables/learning.h. Each kind has a stack (stack.h), whose sums are published:
 *
 *               live bytes noted --> stack: waits close, arms are chosen --> struct hak_kind --> retain/watermark.c
 *
 *           Each kind has a share of the time (base/time_budget.h). In mode frozen, where a policy had rows or a mode
 *           before learnt, quanta have the arms last chosen, and no wait is noted.
 * owner     g_kinds (in kinds.c): a kind belongs to the holder of the lock of the kind's watermark; g_kinds_known (in
 *           tables/learning.c).
 * locks     The rows of a policy take that lock, of runs or of releases.
 * not here  The choice of an arm: stack.h. How much may stay: retain/watermark.h.
 */
#ifndef HAK_LEARN_KINDS_H
#define HAK_LEARN_KINDS_H

#include "learn/rows.h"
#include "tables/learning.h"

/* The functions kind_begins and kind_noted of struct hak_learning (tables/learning.h). */
struct hak_kind *hak_kinds_begin(enum hak_kind_id id);
void hak_kinds_noted(struct hak_kind *kind, uint64_t live, uint64_t break_even_ms, uint64_t now_ms);

/* The rows of a policy (rows.h): of a kind, and `level` of the quantum that begins with a MiB. A level at which no
 * quantum begins is not taken: a file, of a larger process or hostile, makes no quanta coarser. */
enum { HAK_KINDS_MIB_MOST = (64 << 20) - 1 };
bool hak_kinds_out(unsigned id, unsigned place, uint64_t *number);
bool hak_kinds_in(unsigned id, const uint64_t *number, enum hak_row_use use);
bool hak_kinds_level_out(unsigned id, unsigned k, uint64_t *number);
bool hak_kinds_level_in(unsigned id, const uint64_t *number, enum hak_row_use use);

#endif
