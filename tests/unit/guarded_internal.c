/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guarded_internal.c: the pool of guarded blocks, laid open. */
#include "blocks/guarded.c"

#include "internal.h"

/* The lock's holder has vanished in the middle of a change of the ring. */
void hak_inside_guarded_vanish(void);
void hak_inside_guarded_vanish(void) {
  g_guarded.waiting = 0;
  hak_inside_vanish(&g_guarded.lock);
}
