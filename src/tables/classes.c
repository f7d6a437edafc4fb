/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* classes.c: size classes.
 *
 * what      The tables of classes.h, filled by the compiler from classes.def.
 * hot path  The tables are read on the fast path, by the inline functions of classes.h.
 */
#include "tables/classes.h"

#include "os/seal.h"

HAK_SEALED_OR_DATA uint8_t g_small_class[HAK_SMALL_MAX / 16 + 1] = {
    [0] = HAK_CLASS_16, /* malloc(0) returns a block of 16 B */
#define SMALL_CLASS(previous, bytes, units) [(previous) / 16 + 1 ...(bytes) / 16] = HAK_CLASS_##bytes,
#define MID_CLASS(previous, bytes, units)
#define TWIN_CLASS(color, bytes, units)
#define EXTRA_CLASS(which)
#define RUN_CLASS(previous, bytes)
#include "tables/classes.def"
#undef SMALL_CLASS
#undef MID_CLASS
#undef TWIN_CLASS
#undef EXTRA_CLASS
#undef RUN_CLASS
};

HAK_SEALED_OR_DATA uint8_t g_mid_class[HAK_SLAB_MAX / 128 + 1] = {
#define SMALL_CLASS(previous, bytes, units)
#define MID_CLASS(previous, bytes, units) [(previous) / 128 + 1 ...(bytes) / 128] = HAK_CLASS_##bytes,
#define TWIN_CLASS(color, bytes, units)
#define EXTRA_CLASS(which)
#define RUN_CLASS(previous, bytes)
#include "tables/classes.def"
#undef SMALL_CLASS
#undef MID_CLASS
#undef TWIN_CLASS
#undef EXTRA_CLASS
#undef RUN_CLASS
};

HAK_SEALED_OR_DATA uint8_t g_run_class[HAK_RUN_MAX / 4096 + 1] = {
    [0 ... HAK_SLAB_MAX / 4096] = HAK_RUN_CLASS,
#define SMALL_CLASS(previous, bytes, units)
#define MID_CLASS(previous, bytes, units)
#define TWIN_CLASS(color, bytes, units)
#define EXTRA_CLASS(which)
#define RUN_CLASS(previous, bytes) [(previous) / 4096 + 1 ...(bytes) / 4096] = HAK_RUN_##bytes,
#include "tables/classes.def"
#undef SMALL_CLASS
#undef MID_CLASS
#undef TWIN_CLASS
#undef EXTRA_CLASS
#undef RUN_CLASS
};

/* The inverse of an odd number modulo 2^64, by Newton's iteration: 5, 10, 20, 40, 80 bits. */
#define ODD_PART(n) ((uint64_t)(n) / ((n) & -(uint64_t)(n)))
#define NEWTON(d, x) ((x) * (2 - (d) * (x)))
#define INVERSE_5(d) (3 * (d) ^ 2)
#define INVERSE(d) NEWTON(d, NEWTON(d, NEWTON(d, NEWTON(d, INVERSE_5(d)))))
#define RECIPROCAL(n) ((((uint64_t)1 << HAK_RECIPROCAL_SHIFT) + (n)-1) / (n))

#define ROW(number, previous, bytes, units) \
  [number] = {bytes, units, (uint32_t)((units)*HAK_UNIT_BYTES / (bytes)), previous, RECIPROCAL(bytes), \
              INVERSE(ODD_PART(bytes))},

HAK_SEALED_OR_DATA uint8_t g_class_end = HAK_EXTRA_CLASS;
HAK_SEALED uint8_t g_class_version;

/* The writable name of g_class. A row is written once, before its class number is published, so readers and compilers
 * may treat rows as constants. A page of its own keeps the rows file-backed: the page behind is written by every
 * process. */
enum { PAGE_BYTES = 4096, LEAST_PAGE = 4096 };
HAK_HIDDEN struct {
  struct hak_class row[HAK_CLASSES];
  char rest[PAGE_BYTES - HAK_CLASSES * sizeof(struct hak_class)];
} g_class_rows __asm__("g_class") HAK_SEALED __attribute__((aligned(PAGE_BYTES))) = {.row = {
#define SMALL_CLASS(previous, bytes, units) ROW(HAK_CLASS_##bytes, previous, bytes, units)
#define MID_CLASS(previous, bytes, units) ROW(HAK_CLASS_##bytes, previous, bytes, units)
#define TWIN_CLASS(color, bytes, units) ROW(HAK_TWIN_##color##_##bytes, (bytes)-16, bytes, units)
#define EXTRA_CLASS(which)
#define RUN_CLASS(previous, bytes) [HAK_RUN_##bytes] = {bytes, 1, 1, bytes, 0, 0},
#include "tables/classes.def"
#undef SMALL_CLASS
#undef MID_CLASS
#undef TWIN_CLASS
#undef EXTRA_CLASS
#undef RUN_CLASS
}};

/* The smallest class of classes.def, without added classes, that holds n bytes. */
static unsigned usual_class(size_t n) {
  unsigned c = HAK_CLASS_16;
  while (g_class[c].bytes < n) c++;
  return c;
}

unsigned hak_class_aligned(size_t n, size_t align) {
  if (n > HAK_SLAB_MAX || align > HAK_SLAB_MAX) return 0;
  size_t most = hak_max(n, align);
  unsigned c = hak_class_of(most);
  if (c >= HAK_EXTRA_CLASS && align > hak_class_step(most)) c = usual_class(most);
  if (c >= HAK_EXTRA_CLASS) return c;
  while (c < HAK_CLASSES_USED && g_class[c].bytes % align != 0) c++;
  return c < HAK_CLASSES_USED ? c : 0;
}

void hak_class_table(uint8_t *table, unsigned color) {
  for (size_t i = 0; i <= HAK_SMALL_MAX / 16; i++) {
    uint8_t c = HAK_CLASS_AT(&g_small_class[i]);
    bool twin = color != 0 && c <= HAK_COLORED;
    table[i] = twin ? (uint8_t)(HAK_CLASSES_USED + (color - 1) * HAK_COLORED + c - 1) : c;
  }
}

void hak_class_table_renew(uint8_t *table) {
  for (size_t i = HAK_COLORED + 1; i <= HAK_SMALL_MAX / 16; i++) table[i] = HAK_CLASS_AT(&g_small_class[i]);
}

/* From the longest class on, which is whole pages of any kernel: a class that is not takes over its successor's. */
void hak_class_whole_pages(size_t page) {
  if (page == LEAST_PAGE) return;
  enum hak_seal_state seal = hak_unseal();
  for (size_t i = HAK_RUN_MAX / LEAST_PAGE; i-- > 0;) {
    size_t bytes = g_class[g_run_class[i]].bytes;
    if (bytes % page != 0 || bytes < HAK_UNIT_BYTES) g_run_class[i] = g_run_class[i + 1];
  }
  hak_reseal(seal);
}

/* ---- classes added while the process runs ---- */

enum { SLOTS_LEAST = 8 };

struct hak_class hak_class_shape(size_t bytes) {
  size_t units = 1;
  while (units * HAK_UNIT_BYTES / bytes < SLOTS_LEAST) units++;
  uint64_t odd = ODD_PART(bytes);
  uint32_t slots = (uint32_t)(units * HAK_UNIT_BYTES / bytes), below = g_class[usual_class(bytes) - 1].bytes;
  return (struct hak_class){(uint32_t)bytes, (uint32_t)units, slots, below, RECIPROCAL(bytes),
                            INVERSE(odd)};
}

/* Gives class c the entries of the class above, from `top` downwards: all these sizes fit c. */
static void edit_table(uint8_t *table, size_t top, unsigned c) {
  for (uint8_t above = hak_load(&table[top]); hak_load(&table[top]) == above; top--) {
    hak_store_release(&table[top], (uint8_t)c);
  }
}

unsigned hak_class_add(size_t bytes) {
  unsigned c = g_class_end;
  if (c == HAK_RUN_CLASS || bytes == 0 || bytes > HAK_SLAB_MAX || bytes % hak_class_step(bytes) != 0) return 0;
  if (g_class[hak_class_of(bytes)].bytes == bytes) return 0;
  enum hak_seal_state seal = hak_unseal();
  if (seal == HAK_SEAL_SHUT) return 0;
  g_class_rows.row[c] = hak_class_shape(bytes);
  hak_store_release(&g_class_end, (uint8_t)(c + 1)); /* before any block of class c exists: no number is used twice */
  edit_table(bytes <= HAK_SMALL_MAX ? g_small_class : g_mid_class, bytes / hak_class_step(bytes), c);
  hak_store_release(&g_class_version, (uint8_t)(g_class_version + 1));
  hak_reseal(seal);
  return c;
}
