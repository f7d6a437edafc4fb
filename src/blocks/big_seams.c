/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_seams.c: where two kernel mappings meet in memory of big blocks.
 *
 * what      mremap moves a single kernel mapping, and moved pages stay a separate mapping whatever lies beside. So both
 *           ends of moved memory are recorded as seams, in order of address: memory between two seams moves in a single
 *           call.
 *
 *               mapped, side by side   [ . . . . . . . . . . ]              one mapping
 *               pages moved between    [ . . . ][ moved  ][ . . ][ moved ]
 *               seams                           ^        ^       ^       ^
 *
 *           When memory is unmapped or moved away, the seams inside are dropped, and the seams at both ends unless
 *           memory of big blocks lies beyond.
 * failure   An unrecorded seam (the program split a mapping by advice of its own, or a fork came between) costs a
 *           refused move, and the pages' faults. A needless seam costs a kernel call. After a takeover (os/lock.h) no
 *           seam is recorded.
 * not here  Moving pages: big.c.
 */
#include "blocks/big_internal.h"

static HAK_RARE uintptr_t g_seam[HAK_BIG_SEAMS]; /* in order of address */

/* Index of the first seam at or above the address. */
static size_t seam_from(uintptr_t address) {
  size_t low = 0, high = g_big.seams;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (g_seam[middle] < address) low = middle + 1;
    else high = middle;
  }
  return low;
}

static bool is_seam(size_t i, uintptr_t address) { return i < g_big.seams && g_seam[i] == address; }

static bool is_big_memory(uintptr_t address) {
  return hak_big_find_around_locked(address) != NULL || hak_big_cache_has_locked(address);
}

size_t hak_big_stretch_locked(const char *from, size_t most) {
  size_t i = seam_from((uintptr_t)from + 1);
  return i < g_big.seams ? hak_min(g_seam[i] - (uintptr_t)from, most) : most;
}

void hak_big_add_seam_locked(const char *at) {
  size_t i = seam_from((uintptr_t)at);
  if (g_big.seams == HAK_BIG_SEAMS || is_seam(i, (uintptr_t)at)) return;
  __builtin_memmove(&g_seam[i + 1], &g_seam[i], (g_big.seams - i) * sizeof g_seam[0]);
  g_seam[i] = (uintptr_t)at;
  g_big.seams++;
}

void hak_big_drop_seams_locked(const char *from, size_t bytes) {
  uintptr_t start = (uintptr_t)from, end = start + bytes;
  size_t first = seam_from(start), past = seam_from(end);
  if (is_seam(past, end) && !is_big_memory(end)) past++;
  if (is_seam(first, start) && is_big_memory(start - 1)) first++;
  if (first >= past) return;
  __builtin_memmove(&g_seam[first], &g_seam[past], (g_big.seams - past) * sizeof g_seam[0]);
  g_big.seams -= past - first;
}
