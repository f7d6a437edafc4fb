/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab.h: blocks of one class, free slots in an out-of-band bitmap.
 *
 * what      A slab is a run of units cut into equal slots. The bitmap is touched only in batches: fill clears bits
 *           and hands pointers out, put sets them again.
 *
 *               slab (unit k .. k+n)   [slot 0][slot 1][slot 2] ...        user memory, never read or written here
 *               summary  1 bit per word    ...0110
 *               words    1 bit per slot    1 = free           setting a bit that is set is a double free
 *
 * owner     g_slab (in slab.c), one record per class. A thread's current slab is `owned`: only it fills from there;
 *           everyone's frees may go there.
 * locks     One per class. Span's and metadata's are taken under it.
 * orders    Under the lock. The bitmap is the truth: lists and counts are rebuilt from it.
 * hot path  No; one call per half magazine.
 * failure   fill gives fewer blocks, or none; put reports the first wrong pointer and skips all wrong ones.
 * not here  Magazines: front. Who decides how many.
 */
#ifndef HAK_BLOCKS_SLAB_H
#define HAK_BLOCKS_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "os/die.h"
#include "os/self.h"

/* Takes up to `want` blocks of class c; out[n - 1] has the lowest address. *current is the caller's own slab
 * (HAK_NO_UNIT at first), kept from call to call. Returns n. */
size_t hak_slab_fill(unsigned c, uint32_t *current, void **out, size_t want);

/* Puts blocks of class c back, from the front, in at most `steps` steps; how many. A step is one block, or neighbours
 * that follow one upon the other in either direction. */
size_t hak_slab_put(unsigned c, void *const *blocks, size_t n, size_t steps, struct hak_fault *fault);

/* Looks at n blocks of class c on their way to another thread, without the lock: a wrong pointer, or one whose bit is
 * set, is reported. (Of two equal ones neither bit is set yet: only a put sees that.) */
void hak_slab_check(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault);

/* Ends the program with the fault's line, if there is one. No lock may be held. */
_Noreturn void hak_slab_die(const struct hak_fault *fault, const void *caller);
static inline void hak_slab_report(const struct hak_fault *fault, const void *caller) {
  if (HAK_UNLIKELY(fault->error != HAK_ERROR_none)) hak_slab_die(fault, caller);
}

/* Gives up a thread's current slab, when it exits or a fork left it behind. */
void hak_slab_release(unsigned c, uint32_t *current);

/* Empty slabs kept by the classes go back to span. */
void hak_slab_trim(void);

/* What a sweep may do. */
struct hak_sweep {
  uint32_t at;         /* unit to go on from; 0: the first. Is 0 again when the range's end was reached */
  uint32_t units;      /* to look at */
  uint32_t idle_ticks; /* slabs that were filled from since are left alone; 0: none is */
};

/* Gives pages inside slabs that hold no live block back to the kernel, one batch of them; bytes that went. Their slots
 * are out of the bitmap meanwhile. */
size_t hak_slab_sweep(struct hak_sweep *sweep);

/* All blocks that are out of the bitmaps, and their bytes. */
struct hak_slab_handed_out {
  uint64_t blocks, bytes;
};
struct hak_slab_handed_out hak_slab_handed_out_all(void);

/* By how much those classes grew of which more is out than at the last call, whatever others shrank by. One caller at a
 * time. */
uint64_t hak_slab_grown_bytes(void);

/* The mark of the calling thread, as slabs remember who filled from them last. */
static inline uint32_t hak_slab_filler(void) { return (uint32_t)(hak_self_token() >> 4); }

/* Address space of all open slabs, in bytes. */
uint64_t hak_slab_bytes(void);

/* Blocks of class c that are out of the bitmaps, and its slabs' units. */
uint64_t hak_slab_handed_out(unsigned c, uint64_t *units);

#endif
