/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* clear.h: long memory without its past.
 *
 * what      Zeroes memory of a block, or lets the kernel take its pages where it is so long that few programs write all
 *           of it: pages that the program does not touch then cost neither time nor memory.
 * owner     The caller's block.
 * failure   Pages that the kernel refuses to take (mlockall) are zeroed.
 */
#ifndef HAK_ENTRY_CLEAR_H
#define HAK_ENTRY_CLEAR_H

#include "base/bytes.h"
#include "os/os.h"
#include "tables/range.h"

/* n bytes at p read as zero from now on. From `least` bytes on the kernel takes the whole pages, but for those of the
 * range, whose tables know which pages are there. Returns p. */
static inline void *hak_clear(void *p, size_t n, size_t least) {
  size_t page = hak_os_page_bytes();
  char *first = (char *)hak_round_up((uintptr_t)p, page), *end = (char *)p + n;
  bool apart = n >= least && hak_range_unit_of(p) >= hak_load(&g_range.units);
  size_t whole = apart ? (size_t)(end - first) & -page : 0;
  if (whole == 0 || !hak_os_purge(first, whole)) return hak_libc_memset(p, 0, n);
  hak_libc_memset(p, 0, (size_t)(first - (char *)p));
  hak_libc_memset(first + whole, 0, (size_t)(end - first) - whole);
  return p;
}

#endif
