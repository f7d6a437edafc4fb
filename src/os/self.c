/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* self.c: what a thread is to the layers that know no contexts.
 *
 * what      The five words; see self.h.
 * owner     The thread.
 * not here  Anything else.
 */
#include "os/self.h"

__thread struct hak_self hak_self;

enum {
  STACK_MOST = 1 << 30,
  FIRST_LEAST = 64 << 20 /* below the first stack's end the kernel maps nothing else: at least 128 MiB */
};
extern void *__libc_stack_end;

/* A thread's own stack lies below its pointer, the first thread's below what the kernel put there. */
uint32_t hak_self_depth(const void *frame) {
  uintptr_t at = (uintptr_t)frame, own = (uintptr_t)hak_self_pointer(), first = (uintptr_t)__libc_stack_end;
  uintptr_t base = own > at && (own < first || first < at) ? own : first;
  return base > at && base - at < STACK_MOST ? (uint32_t)((base - at) / 16) : 0;
}

bool hak_self_is_on_first_stack(const void *frame) {
  return (uintptr_t)__libc_stack_end - (uintptr_t)frame < FIRST_LEAST;
}
