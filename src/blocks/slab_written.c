/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_written.c: whether a program writes to all pages of its blocks.
 *
 * what      See slab_written.h. A page has content if one of 12 words of it is not 0.
 */
#include "blocks/slab_written.h"

#include "blocks/slab_internal.h"
#include "os/peek.h"

enum {
  PAGES = 16,
  WRITTEN = 14, /* of PAGES: an eighth more becomes resident at most */
  WORDS = 12,
  PAGE_STEP = 67, /* prime, and more than any slab has pages: no page comes twice, no part of the blocks oftener */
  WORD_STEP = 677 /* odd: the words looked at lie in no step of the program's */
};

static bool has_content(uintptr_t page, size_t number) {
  size_t words = hak_os_page_bytes() / sizeof(uint32_t);
  for (size_t n = number * WORDS; n < (number + 1) * WORDS; n++) {
    if (hak_os_differs(page + n * WORD_STEP % words * sizeof(uint32_t), 0)) return true;
  }
  return false;
}

bool hak_slab_is_written(unsigned c, uint32_t unit) {
  size_t pages = (size_t)g_class[c].slots * g_class[c].bytes / hak_os_page_bytes(), written = 0, bare = 0;
  if (unit == 0 || !hak_slab_is_of(hak_range_entry(unit), c)) return false;
  uintptr_t start = (uintptr_t)hak_range_address(unit);
  for (size_t i = 0; written < WRITTEN && bare <= PAGES - WRITTEN; i++) {
    if (has_content(start + i * PAGE_STEP % pages * hak_os_page_bytes(), i)) written++;
    else bare++;
  }
  return written == WRITTEN;
}
