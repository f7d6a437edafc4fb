/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* learning.c: hooks of src/learn in the layers below.
 *
 * what      See learning.h.
 */
#include "tables/learning.h"

HAK_SEALED const struct hak_learning *g_learning;
struct hak_big_passing g_big_passing;
bool g_kinds_known;
