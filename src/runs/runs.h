/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runs.h: runs of units.
 *
 * what      Free runs come in three sorts, which never merge with each other: dirty (may hold pages), clean (no pages)
 *           and unmapped (addresses only). A request takes them in this order, each time from the best fitting bin,
 *           dirty stretches of pages (pages.h) right after dirty runs; the range grows last. Dirty runs beyond the keep
 *           limit (retain/watermark.h) are purged, oldest first.
 *
 *               units  | SLAB | LARGE  tail tail | DIRTY . . . DIRTY | SLAB | CLEAN . . . . . CLEAN |
 *                                                  first       last            both ends hold the run's facts
 *
 * owner     g_runs (in runs.c): bins of free runs. A run in use belongs to the file of src/blocks that took the run.
 * locks     g_runs.lock, taken under a class lock, never the reverse.
 * orders    Under the lock. The first unit's facts are written last, with one store each: after a fork while another
 *           thread is inside, a reader finds either the old run or the new run.
 * hot path  No: one call per slab or large block.
 * failure   HAK_NO_UNIT: no memory.
 * not here  The use of the units: src/blocks.
 */
#ifndef HAK_RUNS_RUNS_H
#define HAK_RUNS_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "retain/rent.h"
#include "tables/range.h"

/* A region of 2 MiB that a slab began and that is to be one huge page (runs_open.c). units: of the region's rest, which
 * is detached meanwhile; 0: no region. */
struct hak_opened {
  uint32_t region, rest; /* first units */
  size_t units;
  bool tabled;           /* had small pages before */
};

/* Takes a run of `units` units at a multiple of `align` units (a power of two), of this kind and class c. *clean in:
 * prefer a run without pages; out: the run holds only zeros. HAK_NO_UNIT: no memory. opened: NULL, or for a slab, zero:
 * filled if the slab begins a region; the caller fetches the region before any thread touches the slab. */
uint32_t hak_runs_get(size_t units, size_t align, enum hak_unit_kind kind, unsigned c, bool *clean,
                      struct hak_opened *opened);

/* The first touch of an opened region: 0.1 ms, in trials some milliseconds. Lock: none held. True: it is a huge page,
 * and the slab has pages. */
bool hak_runs_fetch_opened(const struct hak_opened *opened);

/* Gives an opened region up before its first touch: its rest is clean again. g_runs.lock not held. */
void hak_runs_close_opened(struct hak_opened *opened);

/* Like hak_runs_get, but from the end of the longest free run, not from the start of the best fit: for long-lived
 * blocks, so that short-lived blocks leave adjacent free runs. Same as hak_runs_get where no run is long enough, where
 * the longest dirty run holds less than a fourth of all dirty memory, and while all free memory is held. */
uint32_t hak_runs_get_high(size_t units, size_t align, enum hak_unit_kind kind, unsigned c, bool *clean);

/* Frees the run that begins at `first`, with its pages as a dirty run, or as a clean run without pages. Returns the
 * bytes freed; 0 if no run in use begins there: freed by a faster thread. */
size_t hak_runs_put(uint32_t first);
void hak_runs_put_clean(uint32_t first);

/* Extends the run at `first` by `more` units, in place. False: the units behind are not free, or no memory. */
bool hak_runs_extend(uint32_t first, size_t more);

/* Shortens the run at `first` to `units` units, at least one. The units cut off become dirty. */
void hak_runs_shorten(uint32_t first, size_t units);

/* Purges dirty runs, oldest first, until at most `keep` bytes are dirty. Returns the bytes purged. */
size_t hak_runs_purge(size_t keep);

/* Purges one batch of the dirty runs beyond the keep limit. Parts of huge pages that would be torn may stay, up to
 * `torn` bytes beyond the limit. Returns the bytes purged; 0 within the limit. */
size_t hak_runs_age(uint64_t torn);

/* Unmaps all clean runs of at least 1 MiB. Returns the bytes unmapped. For the case that the kernel refuses memory. */
size_t hak_runs_unmap(void);

/* Unmaps clean runs, the longest first, down to 2 MiB + 1/8 of all mapped bytes outside clean runs. Returns the bytes
 * unmapped. After a trim and in a long idle phase: the program will not need these addresses soon. */
size_t hak_runs_unmap_excess(void);

/* In a fork's child: runs that other threads of the parent were purging are leaked, and count neither as free nor as
 * resident. */
void hak_runs_forget_detached(void);

/* True while a thread purges, unmaps or opens runs, which serve no request meanwhile. */
bool hak_runs_any_detached(void);

/* Bytes fetched within the last T (retain/watermark.h) while as many bytes were free, but did not fit. */
uint64_t hak_runs_misfit(void);

/* Takes and drops the lock of the runs, for a learner of their level (learn/kinds.h). No call of this file in
 * between. False: this thread holds the lock already, as exit was called in a signal handler. */
bool hak_runs_hold(void);
void hak_runs_let_go(void);

/* Bytes in free runs: dirty and clean. */
void hak_runs_bytes(uint64_t *dirty, uint64_t *clean);

#endif
