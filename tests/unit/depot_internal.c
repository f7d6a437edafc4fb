/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* depot_internal.c: blocks/depot.c with its stacks exposed.
 *
 * what      See internal.h.
 * owner     g_depot, as in the module.
 * locks     As in the module.
 * orders    As in the module.
 * not here  Tests.
 */
#include "blocks/depot.c"

#include "internal.h"

uint64_t hak_inside_depot_head(unsigned c) { return hak_load(&g_depot.full[c].head); }
const void *hak_inside_depot_top(unsigned c) { return pack_of(hak_inside_depot_head(c)); }
