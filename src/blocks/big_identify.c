/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_identify.c: what an address is to the big box, without a lock.
 *
 * what      For who cannot wait for a lock, as a signal handler: the table and the stock as they are just now. What
 *           another thread changes meanwhile may be missed; a table that it puts aside meanwhile may be a fault.
 */
#include "blocks/big_internal.h"

static struct hak_big_seen find_in_stock(uintptr_t address) {
  for (size_t i = 0, n = hak_min(hak_load(&g_big.pieces), HAK_BIG_PIECES); i < n; i++) {
    uintptr_t start = (uintptr_t)hak_load(&g_big_piece[i].address);
    size_t bytes = hak_load(&g_big_piece[i].bytes);
    if (address - start < bytes) return (struct hak_big_seen){start, bytes, hak_load(&g_big_piece[i].site), false};
  }
  return (struct hak_big_seen){0};
}

struct hak_big_seen hak_big_identify(const void *p) {
  const struct hak_big_slot *s = hak_big_find_around_locked((uintptr_t)p);
  if (s == NULL) return find_in_stock((uintptr_t)p);
  return (struct hak_big_seen){s->address, hak_big_bytes_of(s->facts), (uint16_t)s->origin, true};
}
