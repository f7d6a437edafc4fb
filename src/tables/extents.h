/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* extents.h: where HAKMEM's memory lies.
 *
 * what      A bounded list of stretches of addresses by what they are, which who has them adds to. A stretch that
 *           follows upon the one added last, and is the same, makes that longer.
 *
 *               RUNS      the range, without what lies in its way      tables/range.h
 *               BIG       live blocks that are mapped one by one       blocks/big.h
 *               KEPT      freed ones that hold pages
 *               EMPTY     freed ones that hold none
 *               METADATA  own tables                                   tables/meta.h, tables/range.h, blocks/big.h
 *
 * owner     The caller has the list.
 * failure   A full list: the bytes that are left out are counted.
 * not here  Who reads it: observe/stats_page.h.
 */
#ifndef HAK_TABLES_EXTENTS_H
#define HAK_TABLES_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

enum hak_extent_kind { HAK_EXTENT_RUNS, HAK_EXTENT_BIG, HAK_EXTENT_KEPT, HAK_EXTENT_EMPTY, HAK_EXTENT_METADATA };

struct hak_extent_row {
  uint64_t address, bytes, kind;
};

struct hak_extents {
  struct hak_extent_row *row;
  size_t n, most;
  uint64_t left_out; /* bytes */
};

static inline void hak_extents_add(struct hak_extents *list, const void *p, size_t bytes, enum hak_extent_kind kind) {
  uint64_t address = (uintptr_t)p;
  struct hak_extent_row *last = list->n != 0 ? &list->row[list->n - 1] : NULL;
  if (bytes == 0) return;
  if (last != NULL && last->address + last->bytes == address && last->kind == kind) {
    last->bytes += bytes;
  } else if (list->n < list->most) {
    list->row[list->n++] = (struct hak_extent_row){address, bytes, kind};
  } else {
    list->left_out += bytes;
  }
}

#endif
