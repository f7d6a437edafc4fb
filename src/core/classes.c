/* classes.c: size classes.
 *
 * what      The tables of classes.h, filled by the compiler from classes.def.
 * owner     Constants.
 * hot path  The tables are read there.
 * not here  Anything that changes.
 */
#include "core/classes.h"

uint8_t g_small_class[HAK_SMALL_MAX / 16 + 1] = {
    [0] = 1, /* malloc(0) is a block like any other */
#define SMALL_CLASS(number, previous, bytes, units) [(previous) / 16 + 1 ...(bytes) / 16] = number,
#define MID_CLASS(number, previous, bytes, units)
#define TWIN_CLASS(number, bytes, units)
#define RUN_CLASS(number, bytes, units)
#include "core/classes.def"
#undef SMALL_CLASS
#undef MID_CLASS
#undef TWIN_CLASS
#undef RUN_CLASS
};

uint8_t g_mid_class[HAK_SLAB_MAX / 128 + 1] = {
#define SMALL_CLASS(number, previous, bytes, units)
#define MID_CLASS(number, previous, bytes, units) [(previous) / 128 + 1 ...(bytes) / 128] = number,
#define TWIN_CLASS(number, bytes, units)
#define RUN_CLASS(number, bytes, units)
#include "core/classes.def"
#undef SMALL_CLASS
#undef MID_CLASS
#undef TWIN_CLASS
#undef RUN_CLASS
};

#define ROW(number, bytes, units) \
  [number] = {bytes, units, (uint32_t)((units)*HAK_UNIT_BYTES / (bytes)), \
              (((uint64_t)1 << HAK_RECIPROCAL_SHIFT) + (bytes)-1) / (bytes)},

const struct hak_class g_class[HAK_CLASSES] = {
#define SMALL_CLASS(number, previous, bytes, units) ROW(number, bytes, units)
#define MID_CLASS(number, previous, bytes, units) ROW(number, bytes, units)
#define TWIN_CLASS(number, bytes, units) ROW(number, bytes, units)
#define RUN_CLASS(number, bytes, units) ROW(number, bytes, units)
#include "core/classes.def"
#undef SMALL_CLASS
#undef MID_CLASS
#undef TWIN_CLASS
#undef RUN_CLASS
};

unsigned hak_class_aligned(size_t n, size_t align) {
  if (n > HAK_SLAB_MAX || align > HAK_SLAB_MAX) return 0;
  unsigned c = hak_class_of(hak_max(n, align));
  while (c < HAK_CLASSES_USED && g_class[c].bytes % align != 0) c++;
  return c < HAK_CLASSES_USED ? c : 0;
}

void hak_class_table(uint8_t *table, unsigned color) {
  for (size_t i = 0; i <= HAK_SMALL_MAX / 16; i++) {
    uint8_t c = g_small_class[i];
    bool twin = color != 0 && c <= HAK_COLORED;
    table[i] = twin ? (uint8_t)(HAK_CLASSES_USED + (color - 1) * HAK_COLORED + c - 1) : c;
  }
}
