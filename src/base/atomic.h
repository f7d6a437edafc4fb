/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* atomic.h: the atomic operations in use, each named by its memory order.
 *
 * what      Thin names over the compiler's __atomic builtins. The operands are plain aligned words: a structure's type
 *           does not depend on the threads that share the structure.
 * owner     Pure operations.
 * orders    In the names. hak_fence is the only sequentially consistent operation.
 * hot path  hak_load and hak_store compile to plain moves.
 * not here  Locks: os/lock.h.
 */
#ifndef HAK_BASE_ATOMIC_H
#define HAK_BASE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h" /* hak_pause, hak_set_unshared, HAK_ARCH_NEAR, HAK_ARCH_OF_THREAD */
#include "base/config.h"

#define hak_load(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define hak_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define hak_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define hak_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define hak_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define hak_sub(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_RELAXED)
#define hak_add_release(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELEASE)
#define hak_set_bits(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define hak_swap_release(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELEASE)
#define hak_swap_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
/* Strong compare-and-swap: acquire on success; on failure `expected` receives the value seen. */
#define hak_cas_acquire(p, expected, v) \
  __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
#define hak_cas_acq_rel(p, expected, v) \
  __atomic_compare_exchange_n((p), (expected), (v), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#define hak_fence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
/* Orders earlier accesses before later stores; no instruction on x86-64. */
#define hak_fence_stores() __atomic_thread_fence(__ATOMIC_RELEASE)

/* A load on the fast path. Plain where the compiler then finds the shortest code and a concurrent change of the word is
 * harmless; relaxed under ThreadSanitizer. */
#define HAK_PEEK(p) (HAK_ELIDE_LOCKS ? *(p) : hak_load(p))

#endif
