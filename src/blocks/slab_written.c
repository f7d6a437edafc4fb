/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_written.c: whether a program writes to all pages of its blocks.
 *
 * what      See slab_written.h. A page has content if one of 12 words of it is not 0.
 */
#include "blocks/slab_written.h"

#include "blocks/slab_internal.h"
#include "os/allowed.h"
#include "os/peek.h"

enum {
  PAGES = 2 * HAK_SLAB_SAMPLES,
  WRITTEN = PAGES - 1,
  WORDS = 12,
  PAGE_STEP = 67, /* prime, and more than any slab has pages: all parts of the blocks have their share */
  WORD_STEP = 677 /* odd: the words looked at lie in no step of the program's */
};

static bool has_content(uintptr_t page, size_t number) {
  size_t words = hak_os_page_bytes() / sizeof(uint32_t);
  for (size_t n = number * WORDS; n < (number + 1) * WORDS; n++) {
    if (hak_os_differs(page + n * WORD_STEP % words * sizeof(uint32_t), 0)) return true;
  }
  return false;
}

/* Of the slab of class c that begins at `unit`. */
static bool is_page_written(unsigned c, uint32_t unit, size_t number) {
  size_t pages = (size_t)g_class[c].slots * g_class[c].bytes / hak_os_page_bytes();
  if (unit == 0 || !hak_slab_is_of(hak_range_entry(unit), c)) return false;
  return has_content((uintptr_t)hak_range_address(unit) + number * PAGE_STEP % pages * hak_os_page_bytes(), number);
}

bool hak_slab_is_written(unsigned c, const uint32_t unit[HAK_SLAB_SAMPLES]) {
  size_t written = 0, bare = 0;
  for (size_t i = 0; hak_load(&g_allowed) && written < WRITTEN && bare <= PAGES - WRITTEN; i++) {
    if (is_page_written(c, hak_load(&unit[i / 2]), i)) written++;
    else bare++;
  }
  return written == WRITTEN;
}
