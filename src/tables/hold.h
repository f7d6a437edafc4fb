/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* hold.h: free memory that stays whatever the price says.
 *
 * what      The bytes of free memory that stay for each kind, as M_TRIM_THRESHOLD asks (entry/mallopt.h). UINT64_MAX:
 *           all free memory stays, and new memory is populated before its first use.
 * owner     g_hold_floor (in hold.c); mallopt stores the value.
 * orders    Relaxed.
 * not here  Free memory that stays by the price: retain/rent.h.
 */
#ifndef HAK_TABLES_HOLD_H
#define HAK_TABLES_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"

extern HAK_HIDDEN uint64_t g_hold_floor; /* [bytes] */

/* True if all free memory stays. */
static inline bool hak_holds_all(void) { return HAK_UNLIKELY(hak_load(&g_hold_floor) == UINT64_MAX); }

#endif
