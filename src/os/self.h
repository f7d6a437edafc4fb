/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* self.h: what a thread is to the layers that know no contexts.
 *
 * what      Five words per thread. Their address names the thread: unique among live threads, and the same in a
 *           fork's child.
 *
 *               63     48 47                  4 3    0
 *               [   0    ][ address of hak_self ][ 0 ]      the token
 *
 * owner     The thread.
 * orders    The only other observer is a signal handler of the same thread.
 * not here  Magazines: cache/context.h.
 */
#ifndef HAK_OS_SELF_H
#define HAK_OS_SELF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"

struct hak_self {
  uint64_t in_allocator; /* 1 while this thread is in a slow door */
  uint64_t dying;  /* 1 once this thread said why it aborts */
  uint64_t exiting;  /* 1 once this thread's exit hook ran */
  uint64_t first_generation;  /* 1 + the generation of its first slow door: a token is used again by later threads */
  uint64_t number; /* even, and no other thread's, here or in a process that this one was forked from; 0: none yet */
} __attribute__((aligned(16)));
extern HAK_HIDDEN __thread struct hak_self hak_self;

#define HAK_SELF_TOKEN_MASK (((uint64_t)1 << 48) - 16)

/* The thread pointer, about which thread-local storage lies. */
#if defined(__x86_64__)
static inline char *hak_self_pointer(void) {
  char *pointer;
  __asm__("mov %%fs:0, %0" : "=r"(pointer));
  return pointer;
}
#else
static inline char *hak_self_pointer(void) { return __builtin_thread_pointer(); }
#endif

/* How deep the stack is at this frame, in units of 16 bytes from where it began: the same in every run where the way to
 * it is the same. 0: on a stack that the program made, where that lies far from the thread's. */
uint32_t hak_self_depth(const void *frame);

/* Does this frame lie on the first thread's own stack, and so on a large one? No: it may, very deep. */
bool hak_self_is_on_first_stack(const void *frame);

static inline uint64_t hak_self_token(void) { return (uint64_t)(uintptr_t)&hak_self & HAK_SELF_TOKEN_MASK; }

#endif
