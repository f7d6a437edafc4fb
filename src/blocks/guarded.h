/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guarded.h: single blocks between pages that no access reaches.
 *
 * what      A pool of HAK_GUARDED_SLOTS pages, each between two that are shut. A block lies at the end of its page or
 *           at the begin, by chance; the rest of the page is filled with a pattern. A freed block's page is shut until
 *           all slots that were freed before have been used again.
 *
 *               | shut | pattern, block | shut | freed: shut | shut | block, pattern | shut |
 *                        an overflow faults ^     a late use faults ^  an underflow faults
 *
 *           What is known of each block, live or freed, stays beside: bytes, and the stacks and threads that took and
 *           freed it.
 * owner     g_guarded (in guarded.c). A live block is the caller's.
 * locks     g_guarded.lock, for slots only: kernel calls and the bytes of blocks are outside.
 * orders    A slot's state is stored last (release) and read first (acquire).
 * failure   NULL: no slot is free, or no memory. A wrong pointer: an error code, no change.
 * not here  Which blocks are guarded: entry/guard.h. The report: observe/guard_report.h. Sums: the pool, 300 KiB at
 *           most where a page has 4 KiB, is in none.
 */
#ifndef HAK_BLOCKS_GUARDED_H
#define HAK_BLOCKS_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/die.h"
#include "os/lock.h"

enum { HAK_GUARDED_SLOTS = 64, HAK_GUARDED_FRAMES = 24 };

struct hak_guarded_stack {
  uint64_t thread; /* hak_guarded_thread */
  uint32_t depth;
  uint64_t frame[HAK_GUARDED_FRAMES]; /* return addresses, the call of malloc or free first */
};

/* The calling thread's number: unique here and in all processes that this one was forked from. No kernel call. */
static inline uint64_t hak_guarded_thread(void) { return hak_lock_mine() / 2; }

enum hak_guarded_state { HAK_GUARDED_EMPTY, HAK_GUARDED_CHANGING, HAK_GUARDED_LIVE, HAK_GUARDED_FREED };

struct hak_guarded {
  uint32_t state;
  uint32_t bytes; /* as asked for, at least 1 */
  uintptr_t address;
  struct hak_guarded_stack taken, freed;
};

extern HAK_HIDDEN struct hak_guarded_pool {
  uintptr_t first; /* 0: no pool */
  size_t bytes;
} g_guarded_pool;

/* True if p lies in the pool: it is a guarded block, in front of one, behind one, or was one. */
static inline bool hak_guarded_holds(const void *p) {
  return (uintptr_t)p - hak_load_acquire(&g_guarded_pool.first) < hak_load(&g_guarded_pool.bytes);
}

/* [bytes] The longest block: a page. */
size_t hak_guarded_most(void);

/* Takes a block of n bytes, aligned as malloc's, and to n's greatest power of two. `chance`: any random bits. NULL
 * also for n above hak_guarded_most. */
void *hak_guarded_take(size_t n, uint32_t chance, const struct hak_guarded_stack *taken);

/* The live block at p, which its owner holds, has n bytes from now on: no more than before. Secure flavour. */
void hak_guarded_shorten(void *p, size_t n);

/* Frees the block that begins at p. HAK_ERROR_none: `freed` is kept for reports; else nothing has changed.
 * HAK_ERROR_overrun: the block is live, and the pattern beside it was overwritten. */
enum hak_error hak_guarded_put(void *p, const struct hak_guarded_stack *freed);

/* The error of p in the pool, of which no live block begins at p. */
enum hak_error hak_guarded_judge(const void *p);

/* [bytes] Of the live block that begins at p; 0: none does. */
size_t hak_guarded_bytes(const void *p);

/* Bytes of the live block that p lies in; 0: p lies in none. */
size_t hak_guarded_around(const void *p);

/* The block at p, or the nearer one of those beside p, live or freed; it may change meanwhile. NULL: none was there. */
const struct hak_guarded *hak_guarded_near(const void *p);

/* The nearest byte of the live block's page that was overwritten beside the block; 0: none. */
uintptr_t hak_guarded_overrun(const struct hak_guarded *slot);

#endif
