/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* magazine_inside.c: front/magazine.c with its budget laid open.
 *
 * what      See inside.h.
 * owner     g_budget, as in the module.
 * locks     As in the module.
 * orders    As in the module.
 * hot path  No.
 * failure   None.
 * not here  Tests.
 */
#include "front/magazine.c"

#include "inside.h"

uint64_t hak_inside_budget(void) { return hak_load(&g_budget.bytes); }
