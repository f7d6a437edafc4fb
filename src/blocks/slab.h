/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab.h: blocks of one class, free slots in an out-of-band bitmap.
 *
 * what      A slab is a run of units divided into equal slots. The bitmap changes only in batches: a fill clears bits
 *           and hands blocks out, a put sets the bits. A handed-out block is live, in a magazine or in the depot.
 *
 *               slab (unit k .. k+n)   [slot 0][slot 1][slot 2] ...        user memory, never read or written here
 *               summary  1 bit per word    ...0110
 *               words    1 bit per slot    1 = free           a put of a free slot is a double free
 *
 * owner     g_slab (in slab.c), a record per class. A thread's current slab is `owned`: only this thread fills from
 *           the slab, every thread may put blocks there.
 * locks     A lock per class. g_runs.lock and the metadata lock are taken under a class lock.
 * orders    Under the lock. The bitmap is the truth: lists and counts are rebuilt from the bitmaps.
 * hot path  No: a call per half magazine.
 * failure   A fill returns fewer blocks, or none. A put reports the first wrong pointer and skips all wrong pointers.
 * not here  Magazines, and how many blocks to move: src/cache.
 */
#ifndef HAK_BLOCKS_SLAB_H
#define HAK_BLOCKS_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "os/die.h"
#include "os/self.h"

/* Takes up to `want` blocks of class c; returns the number n. out[n - 1] has the lowest address. *current is the
 * calling thread's own slab: HAK_NO_UNIT at first, updated by each call. */
size_t hak_slab_fill(unsigned c, uint32_t *current, void **out, size_t want);

/* Puts blocks of class c back, from the front of the list, in about `steps` steps; returns their number, at least one.
 * A step is a block, a word of a bitmap that is another than the block before's, and a third of another slab. */
size_t hak_slab_put(unsigned c, void *const *blocks, size_t n, size_t steps, struct hak_fault *fault);
enum { HAK_SLAB_ALL = 1 << 24 }; /* steps for any number of blocks */

/* True if at least two of four samples of n blocks of class c, n at least 32, are neighbours, eight in a row:
 * hak_slab_put takes such blocks a word of the bitmap at a time. Reads the pointers alone, not the blocks. */
bool hak_slab_are_rows(unsigned c, void *const *blocks, size_t n);

/* Checks n blocks of class c that pass to a new thread, without the lock: reports a wrong pointer, and a block whose
 * bit is set. If a pointer is in the list twice, its bit is not set yet: only a put detects this double free. */
void hak_slab_check(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault);

/* Ends the program with the fault's message, if there is a fault. Lock: none held. */
_Noreturn void hak_slab_die(const struct hak_fault *fault, const void *caller);
static inline void hak_slab_report(const struct hak_fault *fault, const void *caller) {
  if (HAK_UNLIKELY(fault->error != HAK_ERROR_none)) hak_slab_die(fault, caller);
}

/* Disowns a thread's current slab: the thread exits, puts rows back, or did not survive a fork. */
void hak_slab_release(unsigned c, uint32_t *current);

/* Closes the empty slabs that the classes keep: the runs become free. */
void hak_slab_trim(void);

/* A sweep: its position and its limits. */
struct hak_sweep {
  uint32_t at;         /* unit to continue from; 0: at the first unit, or the end of the range was reached */
  uint32_t units;      /* units to visit per call */
  uint32_t idle_ticks; /* skips slabs filled from within so many ticks; 0: skips none */
};

/* Purges pages in slabs that hold no live block, a batch per call. Returns the bytes purged. Meanwhile the slots on
 * these pages are hidden from the bitmap. */
size_t hak_slab_sweep(struct hak_sweep *sweep);

/* All blocks handed out, and their bytes. grown: sum over classes of max(0, bytes - bytes at the last call of
 * hak_slab_handed_out_grown), by that function only. One caller of it at a time. */
struct hak_slab_handed_out {
  uint64_t blocks, bytes, grown;
};
struct hak_slab_handed_out hak_slab_handed_out_all(void);
struct hak_slab_handed_out hak_slab_handed_out_grown(void);

/* Identifies the calling thread in hak_unit.filler. */
static inline uint32_t hak_slab_filler(void) { return (uint32_t)(hak_self_token() >> 4); }

/* Address space of all open slabs [bytes]. */
uint64_t hak_slab_bytes(void);

/* Blocks of class c handed out; *units: the units of the slabs of class c. */
uint64_t hak_slab_handed_out(unsigned c, uint64_t *units);

#endif
