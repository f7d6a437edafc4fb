/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_seams.c: where two of the kernel's mappings meet in memory of this box.
 *
 * what      Only one mapping moves at a time, and pages that moved stay one by themselves, whatever lies beside them.
 *           So both ends of what moved are seams, in a list by address: what lies between two moves in one call.
 *
 *               mapped, side by side   [ . . . . . . . . . . ]              one mapping
 *               pages moved between    [ . . . ][ moved  ][ . . ][ moved ]
 *               seams                           ^        ^       ^       ^
 *
 *           When memory goes so do the seams in it, and at its ends those beyond which none of ours lies.
 * failure   A seam that is not known (the program split a mapping by advice of its own, or a fork came between) costs a
 *           move that is refused, and the pages; one too many costs a kernel call. After a cut none is known.
 * not here  Who moves: big.c.
 */
#include "blocks/big_internal.h"

static HAK_RARE uintptr_t g_seam[HAK_BIG_SEAMS]; /* by address */

/* The first seam that does not lie below the address. */
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
