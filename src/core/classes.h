/* classes.h: size classes.
 *
 * what      Request -> class by one table look-up, class -> block size, slab shape and the reciprocal that turns
 *           an offset into a slot number. Rows: classes.def.
 *
 *               bytes   16 32 ... 128 | 144 160 ... 256 | 288 ... 512 | ... | 18 Ki ... 32 Ki
 *               class    1  2       8 |   9  10      16 |  17      24 | ... |    65        72      0 = no class
 *
 *           Runs of 1 to 4 units have classes too, so that they may lie in magazines: a slab of one slot, as it were.
 *
 * owner     Constants. (The look-up tables are data, not text: classes added while running will edit them.)
 * hot path  hak_class_of and the two tables, hak_run_class_of.
 * failure   hak_class_of asks for n <= HAK_SLAB_MAX.
 * not here  Magazine capacities: front/magazine.h.
 */
#ifndef HAK_CORE_CLASSES_H
#define HAK_CORE_CLASSES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/config.h"

struct hak_class {
  uint32_t bytes;      /* block size */
  uint32_t units;      /* units per slab */
  uint32_t slots;      /* blocks per slab */
  uint64_t reciprocal; /* ceil(2^40 / bytes): exact for offsets below 2^24 */
};

#define HAK_RECIPROCAL_SHIFT 40

extern HAK_HIDDEN uint8_t g_small_class[HAK_SMALL_MAX / 16 + 1];
extern HAK_HIDDEN uint8_t g_mid_class[HAK_SLAB_MAX / 128 + 1];
extern HAK_HIDDEN const struct hak_class g_class[HAK_CLASSES];
static_assert(HAK_RUN_MAX == HAK_RUN_CLASSES * HAK_UNIT_BYTES, "a class for each length");

HAK_INLINE unsigned hak_small_class_of(size_t n) { return g_small_class[(n + 15) / 16]; }
HAK_INLINE unsigned hak_mid_class_of(size_t n) { return g_mid_class[(n + 127) / 128]; }

/* The class that serves n bytes; n <= HAK_SLAB_MAX. */
HAK_INLINE unsigned hak_class_of(size_t n) {
  return n <= HAK_SMALL_MAX ? hak_small_class_of(n) : hak_mid_class_of(n);
}

/* The class that serves n bytes by a run; n <= HAK_RUN_MAX, not 0. */
HAK_INLINE unsigned hak_run_class_of(size_t n) { return HAK_RUN_CLASS + (unsigned)((n - 1) >> HAK_UNIT_SHIFT); }

/* Are blocks of this class slots of slabs, or runs? */
HAK_INLINE bool hak_is_slab_class(unsigned c) { return c - 1 < HAK_RUN_CLASS - 1; }
HAK_INLINE bool hak_is_run_class(unsigned c) { return c - HAK_RUN_CLASS < HAK_RUN_CLASSES; }

/* The smallest class that serves n bytes at multiples of align (a power of two), or 0 when none does. */
unsigned hak_class_aligned(size_t n, size_t align);

/* The look-up table for requests up to HAK_SMALL_MAX, in steps of 16 bytes, as the threads of this colour use it:
 * HAK_SMALL_MAX / 16 + 1 bytes. */
void hak_class_table(uint8_t *table, unsigned color);

#endif
