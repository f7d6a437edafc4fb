/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* context.c: the calling thread's context.
 *
 * what      See context.h. A thread begins with the empty context, which stays all zero: each call takes the slow
 *           path.
 */
#include "cache/context.h"

const struct hak_context g_empty_context;
__thread struct hak_context *hak_context = (struct hak_context *)&g_empty_context;
