/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* region_inside.c: span/region.c laid open.
 *
 * what      See inside.h.
 * owner     g_region, as in the module.
 * locks     None: the test is alone.
 * orders    None.
 * hot path  No.
 * failure   See inside.h.
 * not here  Tests.
 */
#include "span/region.c"

#include "inside.h"

struct hak_lock *hak_inside_region_lock(void) { return &g_region.lock; }
void hak_inside_region_damage(void) { g_region.borders = 12345; }
bool hak_inside_region_counts(void) { return g_region.borders == borders_of(0, REGIONS); }
