/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* self.h: the state of a thread, for layers below the thread's context.
 *
 * what      Six words per thread. Their address names the thread: unique among live threads, and the same in a fork's
 *           child.
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

#include "arch/arch.h"
#include "base/bits.h"

struct hak_self {
  uint64_t in_allocator; /* 1 while this thread is in a slow path */
  uint64_t dying;  /* 1 once this thread has printed the fatal message */
  uint64_t exiting;  /* 1 once this thread's exit hook has run */
  uint64_t first_generation;  /* 1 + generation of the thread's first slow path: later threads reuse the token */
  uint64_t asks;   /* 1 while the program's handler of a failed request runs, and while that request is tried again */
  uint64_t number; /* even; unique here and in every process that this process was forked from; 0: none yet */
} __attribute__((aligned(16)));
extern HAK_HIDDEN __thread struct hak_self hak_self;

#define HAK_SELF_TOKEN_MASK (((uint64_t)1 << 48) - 16)

/* The thread pointer: thread-local storage lies around this address. */
static inline char *hak_self_pointer(void) { return hak_arch_pointer(); }

/* Depth of the stack at this frame [16 bytes], from the stack's base: the same in every run with the same chain of
 * calls. 0: on a stack that the program made, far from the thread's. */
uint32_t hak_self_depth(const void *frame);

/* True if this frame lies on the first thread's stack, a large stack. False also for a very deep frame there. */
bool hak_self_is_on_first_stack(const void *frame);

static inline uint64_t hak_self_token(void) { return (uint64_t)(uintptr_t)&hak_self & HAK_SELF_TOKEN_MASK; }

#endif
