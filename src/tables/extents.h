/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* extents.h: where HAKMEM's memory lies.
 *
 * what      A bounded list of address ranges by kind, filled by the owners of the memory. A range that continues the
 *           last entry, with the same kind, extends that entry.
 *
 *               RUNS      the address range, without foreign mappings in between   tables/range.h
 *               BIG       live blocks that are mapped one by one                   blocks/big.h
 *               KEPT      freed big blocks that hold pages                         blocks/big.h
 *               EMPTY     freed big blocks that hold no pages                      blocks/big.h
 *               METADATA  HAKMEM's own tables                     tables/meta.h, tables/range.h, blocks/big.h
 *
 * owner     The caller owns the list.
 * failure   A full list: left_out counts the bytes without an entry.
 * not here  The reader: observe/stats_page.h.
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
  uint64_t left_out; /* without an entry [bytes] */
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
