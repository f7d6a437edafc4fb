/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* magazine_internal.c: cache/magazine.c with its budget exposed.
 *
 * what      See internal.h.
 * owner     g_budget, as in the module.
 * locks     As in the module.
 * orders    As in the module.
 * not here  Tests.
 */
#include "base/atomic.h"

void (*hak_inside_at_fence)(void);
#undef hak_fence
#define hak_fence() (__atomic_thread_fence(__ATOMIC_SEQ_CST), hak_inside_at_fence != NULL ? hak_inside_at_fence() : (void)0)

#include "cache/magazine.c"

#include "internal.h"

uint64_t hak_inside_budget(void) { return hak_load(&g_budget.bytes); }
