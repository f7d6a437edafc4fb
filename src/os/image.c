/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* image.c: the pages of the file that this code came in.
 *
 * what      See image.h.
 */
#include "os/image.h"

#include "base/bits.h"
#include "os/os.h"

extern HAK_HIDDEN char __ehdr_start[], etext[], __bss_start[], _end[];

enum { MOST = 16 << 20 };

/* The pages from one address to another. */
static void populate(uintptr_t from, uintptr_t to, bool write) {
  size_t page = hak_os_page_bytes();
  from &= -(uintptr_t)page;
  if (to > from && to - from <= MOST) hak_os_populate((void *)from, hak_round_up(to - from, page), write);
}

void hak_image_populate(void) {
  populate((uintptr_t)__ehdr_start, (uintptr_t)etext, false);
  populate((uintptr_t)__bss_start, (uintptr_t)_end, true);
}
