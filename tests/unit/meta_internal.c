/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* meta_internal.c: tables/meta.c with its lock exposed.
 *
 * what      See internal.h.
 * owner     g_meta, as in the module.
 * locks     As in the module.
 * orders    As in the module.
 * not here  Tests.
 */
#include "tables/meta.c"

#include "internal.h"

struct hak_lock *hak_inside_meta_lock(void) { return &g_meta.lock; }

uintptr_t hak_inside_meta_end_soon(size_t bytes) {
  g_meta.cursor = hak_round_up(g_meta.cursor, PAGE) + list_bytes(0);
  return g_meta.end = g_meta.cursor + bytes;
}
