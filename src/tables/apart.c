/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* apart.c: random places for HAKMEM's own data.
 *
 * what      See apart.h.
 */
#include "tables/apart.h"

#include <stdbool.h>

#include "os/chance.h"
#include "os/guard.h"
#include "os/os.h"

enum { TRIES = 4 };

/* log2 of the lowest address of a window of the range: see range.c. The second serves small address spaces. */
static const uint8_t lows[] = {44, 36};

uintptr_t hak_apart_place(unsigned low_log, unsigned quarter, size_t room) {
  uint64_t length = (uint64_t)1 << (low_log - 2);
  uint64_t offset = hak_chance() % (length - room);
  return (uintptr_t)((2 + quarter) * length + offset) & -(uintptr_t)hak_os_page_bytes();
}

void hak_apart_guard_front(void *p) {
  size_t page = hak_os_page_bytes();
  bool taken;
  if (hak_os_map_at((char *)p - page, page, &taken)) hak_os_guard((char *)p - page, page);
}

static char *map_somewhere(size_t bytes) {
  for (unsigned i = 0; i < TRIES; i++) {
    char *p = (char *)hak_apart_place(lows[i * sizeof lows / TRIES], 0, bytes);
    bool taken;
    if (hak_os_map_at(p, bytes, &taken)) return p;
  }
  return hak_os_map(bytes);
}

void *hak_apart_map(size_t bytes) {
  size_t page = hak_os_page_bytes();
  char *p = map_somewhere(bytes + 2 * page);
  if (p == NULL) return NULL;
  hak_os_guard(p, page);
  hak_os_guard(p + page + bytes, page);
  return p + page;
}
