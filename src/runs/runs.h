/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runs.h: runs of units.
 *
 * what      Free runs in three sorts that are never merged with each other: dirty (may hold pages), clean (no pages)
 *           and gone (addresses only). A request takes them in this order, the best fitting bin first, and the range
 *           grows last. Dirty runs go back oldest first, when there are more than may stay (retain/watermark.h).
 *
 *               units  | SLAB | LARGE  rest rest | DIRTY . . . DIRTY | SLAB | CLEAN . . . . . CLEAN |
 *                                                  first       last            a run's facts stand at both ends
 *
 * owner     g_runs (in runs.c): bins of free runs. A run in use belongs to the box that took it.
 * locks     Its own, taken under a class lock, never the other way round.
 * orders    Under the lock. Of a run's facts the first unit's are written last, in one store each, so that a
 *           reader of a cut state finds either the old run or the new one.
 * hot path  No: once per slab or large block.
 * failure   HAK_NO_UNIT: no memory.
 * not here  What the units are used for.
 */
#ifndef HAK_RUNS_RUNS_H
#define HAK_RUNS_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "retain/rent.h"
#include "tables/range.h"

/* A run of `units` at a multiple of `align` units (a power of two), marked as `kind` and `class`. *clean, before:
 * is one without pages liked better; after: it holds only zeros. HAK_NO_UNIT: no memory. */
uint32_t hak_runs_get(size_t units, size_t align, enum hak_unit_kind kind, unsigned c, bool *clean);

/* The same at the end of the longest free run, not at the beginning of one that fits: for blocks that will be there for
 * long, so that those that go soon leave free runs beside each other. Not where less than a fourth of the free memory
 * lies in that run. */
uint32_t hak_runs_get_high(size_t units, size_t align, enum hak_unit_kind kind, unsigned c, bool *clean);

/* first[0] is a run in use that held pages, just taken: up to most - 1 more of its kind, class and length, fewer than
 * 32 units, that hold pages; how many with it. For who may need them soon: of longer ones only that behind it is cut,
 * and that only where nothing was fetched lately because it did not fit. */
size_t hak_runs_get_like(uint32_t *first, size_t most);

/* Gives the run that begins at `first` back; its pages stay for the next one, or it has none. Bytes that went: 0 when
 * no run in use begins there, as another thread was faster. */
size_t hak_runs_put(uint32_t first);
void hak_runs_put_clean(uint32_t first);

/* The same for n runs that may hold pages. */
void hak_runs_put_some(const uint32_t *first, size_t n);

/* Makes the run at `first` longer by `more` units, in place. False: something is in the way. */
bool hak_runs_extend(uint32_t first, size_t more);

/* Cuts the run at `first` down to `units`, at least one. */
void hak_runs_shorten(uint32_t first, size_t units);

/* Gives the pages of dirty runs back to the kernel until at most `keep` bytes are dirty; bytes given back. */
size_t hak_runs_purge(size_t keep);

/* One batch of that, while there are more than may stay; bytes given back, 0 when there was none. */
size_t hak_runs_age(void);

/* Unmaps clean runs of a MiB and more; bytes that went. For when the kernel gives no addresses any more. */
size_t hak_runs_unmap(void);

/* Unmaps clean runs, the longest first, until no more of them are there than an eighth of what else is mapped, and
 * 2 MiB; bytes unmapped. After a trim and at a long rest: the program will not soon want these addresses. */
size_t hak_runs_unmap_excess(void);

/* In a fork's child: runs that other threads were giving back are nobody's here, and not free. */
void hak_runs_forget_detached(void);

/* Bytes that were fetched within a rent though as many were free. */
uint64_t hak_runs_misfit(void);

/* Bytes in free runs, by sort. */
void hak_runs_bytes(uint64_t *dirty, uint64_t *clean);

#endif
