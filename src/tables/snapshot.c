/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* snapshot.c: the published choices of learning.
 *
 * what      See snapshot.h.
 * owner     g_snapshot.
 */
#include "tables/snapshot.h"

enum { VERSION_SHIFT = 48 };

uint64_t g_snapshot;

void hak_snapshot_publish(uint64_t arms) {
  uint64_t old = hak_load(&g_snapshot), version = (old >> VERSION_SHIFT) + 1;
  uint64_t all = (arms & (((uint64_t)1 << VERSION_SHIFT) - 1)) | version << VERSION_SHIFT;
  if ((all ^ old) << (64 - VERSION_SHIFT) != 0) hak_store(&g_snapshot, all);
}
