/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_internal.c: blocks/big.c with its internals exposed.
 *
 * what      See internal.h. The predicate counts table and cache and compares the results.
 * owner     g_big, as in the module.
 * failure   See internal.h.
 * not here  Tests.
 */
#include "os/lock.h"

/* number of times that the lock of big blocks was taken */
static unsigned takes;
#define hak_lock_take(lock) (takes++, hak_lock_take(lock))

#include "fences.h"

#include "blocks/big.c"
#include "blocks/big_cache.c"
#include "blocks/big_huge.c"
#include "blocks/big_seams.c"
#include "blocks/big_sums.c"
#include "blocks/big_table.c"
#include "blocks/big_unmap.c"
#include "blocks/big_watermark.c"

#include "internal.h"

unsigned hak_inside_big_taken(void) { return takes; }
struct hak_lock *hak_inside_big_lock(void) { return &g_big.lock; }
size_t hak_inside_big_capacity(void) { return g_big.table->capacity; }
uint64_t hak_inside_big_made(void) { return g_big.made; }
size_t hak_inside_big_kept(void) { return g_big.pieces; }
size_t hak_inside_big_seams(void) { return g_big.seams; }

void hak_inside_big_damage(void) {
  g_big.used = g_big.promised = 12345;
  g_big.live_bytes = g_big.kept_bytes = g_big_cache[3].live_bytes = g_big.told_bytes = 1;
}

/* As a thread before mmap. */
void hak_inside_big_claim(uint64_t bytes) {
  take_lock();
  claim_locked(bytes);
  hak_big_promise_locked();
  drop_lock();
}

static const char *table_wrong(void) {
  size_t used = 0, entries = 0, refused = 0;
  uint64_t live = 0, slack = 0, told[HAK_KEEPS] = {0};
  for (size_t i = 0; i < g_big.table->capacity; i++) {
    const struct hak_big_slot *s = &g_big.table->slots[i];
    const size_t bytes = hak_big_bytes_of(s->facts);
    used += s->address != 0;
    if (s->address <= HAK_BIG_TOMB) continue;
    entries++;
    refused += !is_block_live(s);
    if (!is_block_live(s)) continue;
    live += hak_big_usable_of(s->facts);
    slack += hak_big_slack_of(s->facts);
    told[s->origin >> HAK_BIG_KEEP_SHIFT] += hak_big_usable_of(s->facts);
    if (hak_big_find_locked(s->address) != s) return "a block is not found where it stands";
    if (hak_big_find_around_locked(s->address + bytes - 1) != s) return "a block is not found by its last byte";
  }
  for (unsigned k = 1; k < HAK_KEEPS; k++) {
    if (told[k] != g_big_cache[k].live_bytes) return "live bytes of a keep time are miscounted";
  }
  if (slack != g_big.slack_bytes) return "slack is miscounted";
  if (refused != g_big.refused) return "refused mappings are miscounted";
  if (used != g_big.used) return "used slots are miscounted";
  size_t most = g_big.table->capacity - g_big.table->capacity / 4;
  if (used + g_big.promised > most) return "the table is more than three quarters full";
  if (entries + g_big.promised + g_big.pieces > most) return "not all pieces have a slot";
  return live == g_big.live_bytes ? NULL : "live bytes are miscounted";
}

static const char *seams_wrong(void) {
  for (size_t i = 0; i < g_big.seams; i++) {
    if (i > 0 && g_seam[i - 1] >= g_seam[i]) return "seams lie in no order";
    if (!is_big_memory(g_seam[i]) && !is_big_memory(g_seam[i] - 1)) return "a seam lies in memory that went";
  }
  return NULL;
}

const char *hak_inside_big_wrong(void) {
  uint64_t kept = g_big.slack_bytes;
  size_t empties = 0;
  for (size_t i = 0; i < g_big.pieces; i++) {
    const struct hak_big_piece *piece = &g_big_piece[i];
    if (i > 0 && piece[-1].address + piece[-1].bytes > piece->address) return "pieces overlap or lie in no order";
    bool touches = i > 0 && piece[-1].address + piece[-1].bytes == piece->address;
    if (touches && piece[-1].empty == piece->empty) return "neighbours are not joined";
    empties += piece->empty;
    if (!piece->empty) kept += piece->bytes;
  }
  if (empties != g_big.empties) return "empty pieces are miscounted";
  if (kept != g_big.kept_bytes) return "kept bytes are miscounted";
  if (g_big.claimed_bytes != 0) return "a claim was left";
  if (g_big.promised != 0) return "a promise was left";
  const char *wrong = seams_wrong();
  return wrong != NULL ? wrong : table_wrong();
}
