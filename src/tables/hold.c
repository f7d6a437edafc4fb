/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* hold.c: free memory that stays whatever the price says.
 *
 * what      See hold.h.
 */
#include "tables/hold.h"

uint64_t g_hold_floor;
