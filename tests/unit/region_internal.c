/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* region_internal.c: runs/region.c with its internals exposed.
 *
 * what      See internal.h.
 * owner     g_region, as in the module.
 * failure   See internal.h.
 * not here  Tests.
 */
#include "runs/region.c"

#include "internal.h"

struct hak_lock *hak_inside_region_lock(void) { return &g_region.lock; }
void hak_inside_region_damage(void) { g_region.borders = 12345; }
bool hak_inside_region_counts(void) { return g_region.borders == borders_of(0, REGIONS); }
