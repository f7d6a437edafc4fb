/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_sums.c: what the big box holds, for who reports or learns from it.
 *
 * what      Sums, each as it is at one moment.
 */
#include "box/big_inside.h"

size_t hak_big_table_bytes(void) {
  hak_big_lock();
  size_t bytes = hak_big_table_bytes_locked();
  hak_big_unlock();
  return bytes;
}

void hak_big_bytes_now(uint64_t *live, uint64_t *cached) {
  hak_big_lock();
  *live = g_big.live_bytes;
  *cached = g_big.kept_bytes + g_big.empty_bytes;
  hak_big_unlock();
}

uint64_t hak_big_unfit(void) {
  hak_big_lock();
  uint64_t unfit = g_big_kept[0].level.unfit;
  hak_big_unlock();
  return unfit;
}

uint64_t hak_big_live_blocks(void) {
  hak_big_lock();
  uint64_t blocks = g_big.live_blocks;
  hak_big_unlock();
  return blocks;
}

void hak_big_extents(struct hak_extents *list) {
  hak_big_lock();
  hak_big_table_extents_locked(list);
  hak_big_stock_extents_locked(list);
  hak_big_unlock();
}
