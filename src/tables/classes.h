/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* classes.h: size classes.
 *
 * what      Request -> class by one table look-up; class -> block size, slab shape and the reciprocal that turns
 *           an offset into a slot number. Rows: classes.def.
 *
 *               bytes   16 32 ... 128 | 144 160 ... 256 | 288 ... 512 | ... | 18 Ki ... 32 Ki
 *               class   HAK_CLASS_16, HAK_CLASS_32, ... by their bytes; HAK_NO_CLASS is 0
 *
 *           Blocks of 9 to 64 pages have classes (run classes), so that such blocks can lie in magazines. A block
 *           counts as a slab with a single slot.
 *
 *           Up to four slab classes can be added while the process runs, each between two existing classes. An added
 *           class is a row and an edit of the tables, and is never removed:
 *
 *               1. row HAK_EXTRA_1   2. g_class_end rises   3. table up to 5,248 5,376 5,504 5,632   4. g_class_version
 *               5,376 B                                 of bytes     5,632 5,632 5,632 5,632      rises
 *                                                             ->     5,376 5,376 5,632 5,632
 *
 *           A thread with an older copy of the table finds a larger class, from classes.def or added, whose blocks are
 *           aligned to a step at least. So added classes serve aligned requests up to an alignment of a step.
 * owner     The rows of classes.def are constants. A single thread at a time adds a class.
 * orders    The row is released before g_class_end, g_class_end before the table. A reader that took a class number
 *           from a table, the class map or a locked slab sees the row by the address dependency, without a barrier;
 *           ThreadSanitizer's build acquires. A fork between two of these steps leaves the child a class that serves
 *           fewer sizes or none.
 * hot path  hak_class_of and the two tables, hak_run_class_of.
 * failure   hak_class_of requires n <= HAK_SLAB_MAX.
 * not here  Magazine capacities: cache/magazine.h. Choice of added classes: learn/extra_class.h.
 */
#ifndef HAK_TABLES_CLASSES_H
#define HAK_TABLES_CLASSES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/config.h"

/* HAK_CLASS_64: blocks of 64 B; HAK_TWIN_1_16: of 16 B, colour 1; HAK_EXTRA_1: added first; HAK_RUN_65536: 16 pages. */
enum hak_class_number {
  HAK_NO_CLASS,
#define SMALL_CLASS(previous, bytes, units) HAK_CLASS_##bytes,
#define MID_CLASS(previous, bytes, units) HAK_CLASS_##bytes,
#define TWIN_CLASS(color, bytes, units) HAK_TWIN_##color##_##bytes,
#define EXTRA_CLASS(which) HAK_EXTRA_##which,
#define RUN_CLASS(previous, bytes) HAK_RUN_##bytes,
#include "tables/classes.def"
#undef SMALL_CLASS
#undef MID_CLASS
#undef TWIN_CLASS
#undef EXTRA_CLASS
#undef RUN_CLASS
  HAK_CLASS_NUMBERS
};
static_assert(HAK_CLASS_32768 + 1 == HAK_CLASSES_USED, "base/config.h: one more row is one more class");
static_assert(HAK_TWIN_1_16 == HAK_CLASSES_USED && HAK_EXTRA_1 == HAK_EXTRA_CLASS, "twins lie behind the classes");
static_assert(HAK_RUN_36864 == HAK_RUN_CLASS && HAK_CLASS_NUMBERS == HAK_CLASSES, "runs lie behind what may be added");

struct hak_class {
  uint32_t bytes;      /* block size */
  uint32_t units;      /* units per slab */
  uint32_t slots;      /* blocks per slab */
  uint32_t below;      /* requests up to so many bytes have smaller classes; of run classes: bytes */
  uint64_t reciprocal; /* ceil(2^40 / bytes): exact for offsets below 2^24 */
  uint64_t inverse;    /* of the odd part of bytes, modulo 2^64; of run classes 0 */
};

#define HAK_RECIPROCAL_SHIFT 40

extern HAK_HIDDEN uint8_t g_small_class[HAK_SMALL_MAX / 16 + 1];
extern HAK_HIDDEN uint8_t g_mid_class[HAK_SLAB_MAX / 128 + 1];
extern HAK_HIDDEN uint8_t g_run_class[HAK_RUN_MAX / 4096 + 1]; /* by pages of 4 KiB */
extern HAK_HIDDEN const struct hak_class g_class[HAK_CLASSES]; /* written by classes.c only */
extern HAK_HIDDEN uint8_t g_class_end;     /* last slab class in use + 1 */
extern HAK_HIDDEN uint8_t g_class_version; /* edits of the tables, modulo 256 */

/* Reads a class number from a look-up table. */
#define HAK_CLASS_AT(p) (HAK_ELIDE_LOCKS ? hak_load(p) : hak_load_acquire(p))

HAK_INLINE unsigned hak_small_class_of(size_t n) { return HAK_CLASS_AT(&g_small_class[(n + 15) / 16]); }
HAK_INLINE unsigned hak_mid_class_of(size_t n) { return HAK_CLASS_AT(&g_mid_class[(n + 127) / 128]); }

/* The class that serves n bytes; n <= HAK_SLAB_MAX. */
HAK_INLINE unsigned hak_class_of(size_t n) {
  return n <= HAK_SMALL_MAX ? hak_small_class_of(n) : hak_mid_class_of(n);
}

/* The slot that begins at an offset [bytes] into a slab: offset / bytes where that is exact, else a number beyond all
 * slots (Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994, section 9).
 * twos: the number of trailing zeros of class->bytes. */
HAK_INLINE uint64_t hak_class_slot(uint64_t inverse, unsigned twos, uint64_t offset) {
  return hak_rotate_right(offset * inverse, twos);
}

/* True if slab class c serves n bytes; false for other classes. */
HAK_INLINE bool hak_class_fits(unsigned c, size_t n) { return n <= g_class[c].bytes && n > g_class[c].below; }

/* The run class that serves n bytes; 0 < n <= HAK_RUN_MAX. */
HAK_INLINE unsigned hak_run_class_of(size_t n) { return g_run_class[(n + 4095) / 4096]; }

/* The run class whose blocks have just so many pages, at most HAK_RUN_MAX; 0: none. */
HAK_INLINE unsigned hak_run_class_of_pages(size_t pages) {
  unsigned c = g_run_class[pages];
  return g_class[c].bytes == pages * 4096 ? c : 0;
}

/* The kernel's pages have `page` bytes: leaves out run classes that are not whole pages, as blocks are, so that the
 * class of a request and that of its block agree. Before the first request; a second call changes nothing. */
void hak_class_whole_pages(size_t page);

/* True for classes of slab blocks, and for classes of runs. */
HAK_INLINE bool hak_is_slab_class(unsigned c) { return c - 1 < HAK_RUN_CLASS - 1; }
HAK_INLINE bool hak_is_run_class(unsigned c) { return c - HAK_RUN_CLASS < HAK_RUN_CLASSES; }

/* The smallest class that serves n bytes at multiples of align (a power of two), or 0 when none does. */
unsigned hak_class_aligned(size_t n, size_t align);

/* Fills a copy of the look-up table for requests up to HAK_SMALL_MAX, in steps of 16 bytes, for threads of this colour:
 * HAK_SMALL_MAX / 16 + 1 bytes. */
void hak_class_table(uint8_t *table, unsigned color);

/* Brings a copy that hak_class_table filled earlier up to date with added classes. */
void hak_class_table_renew(uint8_t *table);

/* Last slab class + 1; all classes below have rows. */
static inline unsigned hak_class_end(void) { return hak_load_acquire(&g_class_end); }

/* The step [bytes] of the look-up table that serves n bytes. */
static inline size_t hak_class_step(size_t n) { return n <= HAK_SMALL_MAX ? 16 : 128; }

/* The shape of a slab of blocks of this size, by the rule of classes.def; 0 < bytes <= HAK_SLAB_MAX. */
struct hak_class hak_class_shape(size_t bytes);

/* Adds a class of this block size. Returns its number, or 0 if no number is left, the size is out of range or no
 * multiple of the step, or a class of this size exists. A single caller at a time. */
unsigned hak_class_add(size_t bytes);

#endif
