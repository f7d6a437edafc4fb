/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* marks_internal.c: cache/marks.c, whose fences call hak_inside_at_fence.
 *
 * what      See fences.h.
 * locks     As in the module.
 * orders    As in the module.
 * not here  Tests.
 */
#include "fences.h"

#include "cache/marks.c"
