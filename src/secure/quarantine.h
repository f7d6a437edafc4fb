/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* quarantine.h: freed blocks that wait for their next use, in the secure flavour.
 *
 * what      A freed block takes the place of a block chosen at random among those that its thread freed before, and the
 *           older one is freed. So a block is not handed out again at once, and the time of it is not known.
 *
 *               small   128 blocks of up to 512 B        middle   8 blocks of up to 4 KiB        others do not wait
 *
 * owner     The thread. A block here is freed already (tables/state.h); to the layers below it is the program's.
 * orders    A signal handler may free between two instructions: a block is exchanged by one instruction that no other
 *           of this thread divides.
 * hot path  hak_quarantine_swap.
 * failure   None. A thread that ends by a fork of another thread takes its blocks along: at most 96 KiB.
 */
#ifndef HAK_SECURE_QUARANTINE_H
#define HAK_SECURE_QUARANTINE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/bits.h"

enum {
  HAK_QUARANTINE_SMALL = 128,
  HAK_QUARANTINE_SMALL_MAX = 512, /* [bytes] */
  HAK_QUARANTINE_MIDDLE = 8,
  HAK_QUARANTINE_MIDDLE_MAX = 4096, /* [bytes] */
  HAK_QUARANTINE_ALL = HAK_QUARANTINE_SMALL + HAK_QUARANTINE_MIDDLE
};

static_assert(HAK_QUARANTINE_SMALL == 1 << 7, "the highest 7 bits of a random number");

struct hak_quarantine {
  uint64_t chance; /* 0: closed, blocks do not wait */
  uint64_t block[HAK_QUARANTINE_ALL];
};
extern HAK_HIDDEN __thread struct hak_quarantine hak_quarantine;

/* Opens the calling thread's quarantine, unless it is open or was closed. */
void hak_quarantine_open(void);

/* Takes a block out; NULL: none is left, and with `close` none comes. */
void *hak_quarantine_take(bool close);

/* Linear congruential, of 64 bits (Knuth, The Art of Computer Programming 2, 3.3.4): the highest bits are the best. */
HAK_INLINE uint64_t hak_quarantine_next(uint64_t x) { return x * 6364136223846793005u + 1442695040888963407u; }

/* The block of n bytes waits; returns the block to be freed: an older one, p, or NULL. */
HAK_INLINE void *hak_quarantine_swap(void *p, size_t n) {
  struct hak_quarantine *q = &hak_quarantine;
  if (HAK_UNLIKELY(n > HAK_QUARANTINE_MIDDLE_MAX)) return p;
  if (HAK_UNLIKELY(q->chance == 0)) hak_quarantine_open();
  if (HAK_UNLIKELY(q->chance == 0)) return p;
  uint64_t chance = q->chance = hak_quarantine_next(q->chance);
  size_t small = chance >> 57;
  size_t i = HAK_LIKELY(n <= HAK_QUARANTINE_SMALL_MAX) ? small : HAK_QUARANTINE_SMALL + small % HAK_QUARANTINE_MIDDLE;
  return (void *)(uintptr_t)hak_arch_exchange_own(&q->block[i], (uintptr_t)p);
}

#endif
