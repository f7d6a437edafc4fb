/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* magazine_internal.c: cache/magazine.c with its budget exposed.
 *
 * what      See internal.h.
 * owner     g_budget, as in the module.
 * locks     As in the module.
 * orders    As in the module.
 * not here  Tests.
 */
#include "cache/magazine.c"

#include "internal.h"

uint64_t hak_inside_budget(void) { return hak_load(&g_budget.bytes); }
