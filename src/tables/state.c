/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* state.c: a byte of state for every 16 bytes of the range.
 *
 * what      Chooses the table's place and maps it as the range grows; see state.h for the drawing.
 */
#include "tables/state.h"

#include "os/os.h"
#include "tables/hold.h"
#include "tables/range.h"

HAK_TABLE uintptr_t g_state_bias;

enum { STEP = 64 << 10 };

/* In bytes from the table's begin: the end of the mapped part, and how much below is mapped. */
static HAK_TABLE struct {
  char *at;
  size_t end, mapped;
} g_state;

void hak_state_place(uintptr_t base, uint64_t room, uint64_t random) {
  uint64_t away = (random * 0x9e3779b97f4a7c15u >> 16) % (room / 8) & ~(uint64_t)(STEP - 1);
  g_state.at = (char *)(base + room / 2 + STEP + away);
  hak_store(&g_state.end, 0);
  hak_store(&g_state.mapped, 0);
  hak_store(&g_state_bias, (uintptr_t)g_state.at - (base >> HAK_STATE_SHIFT));
}

bool hak_state_extend(size_t first, size_t want, bool *taken) {
  size_t step = hak_max(STEP, hak_os_page_bytes()), end = hak_round_up((first + want) * HAK_STATE_UNIT, step);
  size_t from = hak_max(g_state.end, first * HAK_STATE_UNIT & ~(step - 1));
  *taken = false;
  if (end <= g_state.end) return true;
  char *p = g_state.at + from;
  bool follows = from == g_state.end && from != 0;
  if (!hak_os_map_at(p, end - from, taken) && (*taken || !follows || !hak_os_extend(p, end - from))) return false;
  hak_store(&g_state.end, end);
  hak_store_release(&g_state.mapped, g_state.mapped + end - from);
  hak_fence();
  if (hak_holds_all()) hak_os_populate(p, end - from, true);
  return true;
}

void hak_state_open(uint32_t first, size_t units) {
  memset(hak_state_of(hak_range_address(first)), HAK_STATE_UNKNOWN, units * HAK_STATE_UNIT);
}

void hak_state_purge(const void *p, size_t bytes) {
  size_t page = hak_os_page_bytes();
  uintptr_t from = hak_round_up((uintptr_t)hak_state_of(p), page);
  uintptr_t end = (uintptr_t)hak_state_of((const char *)p + bytes) & -page;
  if (from < end) hak_os_purge((void *)from, end - from);
}

size_t hak_state_mapped(void) { return hak_load(&g_state.mapped); }

void hak_state_populate(void) {
  size_t bytes = hak_load_acquire(&g_state.mapped);
  if (bytes == hak_load(&g_state.end)) hak_os_populate(g_state.at, bytes, true);
}

void hak_state_extents(struct hak_extents *list) {
  size_t bytes = hak_load_acquire(&g_state.mapped);
  if (bytes == hak_load(&g_state.end)) hak_extents_add(list, g_state.at, bytes, HAK_EXTENT_METADATA);
}
