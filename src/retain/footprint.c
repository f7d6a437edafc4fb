/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* footprint.c: how many bytes may hold pages.
 *
 * what      The two cells; see footprint.h.
 * owner     g_footprint.
 * not here  Anything else.
 */
#include "retain/footprint.h"

struct hak_footprint g_footprint;
