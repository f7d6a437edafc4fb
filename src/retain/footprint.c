/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* footprint.c: bytes that may hold pages.
 *
 * what      The counters; see footprint.h.
 * owner     g_footprint.
 */
#include "retain/footprint.h"

struct hak_footprint g_footprint;
