/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* self.c: the state of a thread, for layers below the thread's context.
 *
 * what      The five words; see self.h.
 * owner     The thread.
 * not here  Contexts: cache/context.h.
 */
#include "os/self.h"

#include "os/libc.h"

__thread struct hak_self hak_self;

enum {
  STACK_MOST = 1 << 30,
  FIRST_LEAST = 64 << 20 /* [bytes] the kernel keeps at least 128 MiB below the first stack's end free of mappings */
};

/* The base of a thread's stack is the thread pointer, which lies above the stack; of the first thread
 * hak_libc_stack_end. */
uint32_t hak_self_depth(const void *frame) {
  uintptr_t at = (uintptr_t)frame, own = (uintptr_t)hak_self_pointer(), first = (uintptr_t)hak_libc_stack_end();
  uintptr_t base = own > at && (own < first || first < at) ? own : first;
  return base > at && base - at < STACK_MOST ? (uint32_t)((base - at) / 16) : 0;
}

bool hak_self_is_on_first_stack(const void *frame) {
  return (uintptr_t)hak_libc_stack_end() - (uintptr_t)frame < FIRST_LEAST;
}
