/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* context.c: the calling thread's context.
 *
 * what      See context.h. A thread begins with one that is empty for ever: each of its calls comes to a slow path.
 */
#include "cache/context.h"

const struct hak_context g_empty_context;
__thread struct hak_context *hak_context = (struct hak_context *)&g_empty_context;
