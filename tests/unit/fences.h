/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fences.h: a test acts at the full fences of a module.
 *
 * what      Included by a <module>_internal.c before the module. Each hak_fence of the module calls hak_inside_at_fence
 *           afterwards, unless NULL: what another thread did just before the fence, seen behind it. So the order of a
 *           store, a fence and a look is tested in one thread.
 * owner     The test.
 * not here  Whether the fence orders stores of a weak machine: tests/model.
 */
#ifndef HAK_TEST_FENCES_H
#define HAK_TEST_FENCES_H

#include <stddef.h>

#include "base/atomic.h"

void (*hak_inside_at_fence)(void);

static inline void hak_inside_fence(void) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (hak_inside_at_fence != NULL) hak_inside_at_fence();
}

#undef hak_fence
#define hak_fence() hak_inside_fence()

#endif
