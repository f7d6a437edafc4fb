/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_sampled_internal.c: slabs apart, laid open. */
#include "blocks/slab_sampled.c"

#include "internal.h"

/* The lock's holder has vanished, and every figure that can be counted anew is wrong. */
void hak_inside_apart_vanish(void);
void hak_inside_apart_vanish(void) {
  for (unsigned c = 0; c < HAK_RUN_CLASS; c++) g_sampled.first[c] = HAK_NO_UNIT;
  g_sampled.out_bytes = 12345;
  hak_inside_vanish(&g_sampled.lock);
}
