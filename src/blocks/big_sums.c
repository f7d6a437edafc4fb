/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_sums.c: what big blocks hold, for error messages, reports and learning.
 *
 * what      Questions about an address, and sums, each taken under the lock: consistent in itself.
 */
#include "blocks/big_internal.h"

/* ---- about an address ---- */

const void *hak_big_block_of(const void *p) {
  hak_big_lock();
  const struct hak_big_slot *s = hak_big_find_around_locked((uintptr_t)p);
  uintptr_t found = s != NULL ? s->address : 0;
  hak_big_unlock();
  return (const void *)found;
}

enum hak_error hak_big_judge(const void *p) {
  if (hak_big_block_of(p) != NULL) return HAK_ERROR_interior;
  hak_big_lock();
  bool kept = hak_big_cache_has_locked((uintptr_t)p) || hak_big_is_refused_locked((uintptr_t)p);
  hak_big_unlock();
  return kept ? HAK_ERROR_released : HAK_ERROR_foreign;
}

/* ---- sums ---- */

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

uint64_t hak_big_misfit(void) {
  hak_big_lock();
  uint64_t misfit = g_big_cache[0].level.misfit;
  hak_big_unlock();
  return misfit;
}

uint64_t hak_big_live_blocks(void) {
  hak_big_lock();
  uint64_t blocks = g_big.live_blocks;
  hak_big_unlock();
  return blocks;
}

void hak_big_populate_table(void) {
  hak_big_lock();
  hak_big_populate_table_locked();
  hak_big_unlock();
}

void hak_big_extents(struct hak_extents *list) {
  hak_big_lock();
  hak_big_table_extents_locked(list);
  hak_big_cache_extents_locked(list);
  hak_big_unlock();
}
