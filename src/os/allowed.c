/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* allowed.c: g_allowed, false by default.
 *
 * what      See allowed.h.
 */
#include "os/allowed.h"

__attribute__((weak)) bool g_allowed; /* weak: api/process.c defines a strong g_allowed = true */
