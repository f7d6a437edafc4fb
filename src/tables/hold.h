/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* hold.h: free memory that stays whatever it costs.
 *
 * what      The bytes of each kind that M_TRIM_THRESHOLD keeps (entry/mallopt.h). UINT64_MAX: all free memory stays,
 *           and pages are fetched before they are needed.
 * owner     g_hold_floor (in hold.c); mallopt stores it.
 * orders    Relaxed.
 * not here  What stays by its price: retain/rent.h.
 */
#ifndef HAK_TABLES_HOLD_H
#define HAK_TABLES_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"

extern HAK_HIDDEN uint64_t g_hold_floor; /* bytes */

/* Does all free memory stay? */
static inline bool hak_holds_all(void) { return HAK_UNLIKELY(hak_load(&g_hold_floor) == UINT64_MAX); }

#endif
