/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_unmap.c: memory of big blocks goes back to the kernel.
 *
 * what      If the kernel refuses to unmap a mapping (a split would exceed the kernel's bound), the pages are purged
 *           and the addresses wait: as a cached piece without pages, or, beyond EMPTIES_MAX of these, as a refused
 *           entry of the table. A trim tries again.
 * owner     Nothing of its own; g_big: big.c.
 * failure   A slot is promised to each piece on its way to the kernel: a refused mapping always has a place.
 * not here  The keep limit: big_watermark.c. When time has passed: reclaim/release.c.
 */
#include "base/bits.h"
#include "blocks/big_internal.h"
#include "os/os.h"
#include "retain/cost.h"
#include "retain/footprint.h"
#include "retain/rent.h"

enum {
  EMPTIES_MAX = 32,
  RETRIES = 64,        /* refused mappings tried again per trim */
  EVICTED = 256 << 10  /* least bytes evicted: each eviction is a kernel call */
};

/* Records a mapping that the kernel refused to unmap. If the pages could not be purged either, the mapping counts as
 * freed just now. */
static void keep_refused_locked(struct hak_big_piece piece) {
  if (!piece.empty) hak_rent_refused();
  piece.since_ms = hak_os_now_ms();
  if (g_big.empties < EMPTIES_MAX && hak_big_cache_add_locked(&piece)) return;
  hak_big_drop_promise_locked();
  hak_big_refuse_locked(piece);
}

size_t hak_big_unmap_piece(struct hak_big_piece piece) {
  hak_big_split_ends(&piece);
  bool gone = hak_os_unmap(piece.address, piece.bytes), was_empty = piece.empty;
  piece.empty = piece.empty || gone || hak_os_purge(piece.address, piece.bytes);
  hak_big_lock();
  if (!gone) keep_refused_locked(piece);
  else hak_big_drop_promise_locked(), hak_big_drop_seams_locked(piece.address, piece.bytes);
  hak_big_unlock();
  return piece.empty && !was_empty ? piece.bytes : 0;
}

size_t hak_big_unmap_batch(const struct hak_big_batch *batch) {
  size_t bytes = 0;
  for (size_t i = 0; i < batch->n; i++) bytes += hak_big_unmap_piece(batch->piece[i]);
  return bytes;
}

/* Takes the oldest cached memory beyond the limits, then slack, at most a batch. */
static void take_excess_locked(uint64_t keep, uint64_t most_pieces, struct hak_big_batch *batch) {
  batch->n = 0;
  while (batch->n < HAK_BIG_BATCH) {
    bool many = g_big.pieces - g_big.empties > most_pieces || g_big.pieces > HAK_BIG_PIECES;
    if (g_big.kept_bytes <= keep && !many) return;
    uint64_t excess = g_big.kept_bytes - hak_min(keep, g_big.kept_bytes);
    size_t bytes = hak_round_up(hak_max(excess, EVICTED), hak_os_page_bytes());
    struct hak_big_piece piece = hak_big_cache_oldest_locked(bytes, many);
    if (piece.address == NULL) piece = hak_big_take_slack_locked();
    if (piece.address == NULL) return;
    batch->piece[batch->n++] = piece;
  }
}

size_t hak_big_evict(uint64_t keep, uint64_t most_pieces) {
  struct hak_big_batch batch;
  size_t gone = 0, last;
  if (hak_load(&g_footprint.big_cached) != 0) hak_cost_refresh(hak_os_now_ms());
  do {
    hak_big_lock();
    hak_big_set_rent_locked();
    hak_big_note_all_locked(hak_os_now_ms());
    take_excess_locked(hak_min(keep, hak_big_keep_limit_locked()), most_pieces, &batch);
    hak_big_unlock();
    gone += last = hak_big_unmap_batch(&batch);
  } while (batch.n == HAK_BIG_BATCH && last != 0); /* refused pieces are cached again, and would be found again */
  return gone;
}

void hak_big_settle_locked(void) {
  uint64_t limit = hak_big_keep_limit_locked();
  bool too_much = g_big.kept_bytes > limit || g_big.pieces > hak_load(&g_settings.big_cache_blocks);
  hak_big_unlock();
  if (too_much) hak_big_evict(UINT64_MAX, hak_load(&g_settings.big_cache_blocks));
}

size_t hak_big_trim(size_t keep) { return hak_big_evict(keep, HAK_BIG_PIECES); }

/* Both searches move upwards: a mapping refused again is not found again. */
void hak_big_retry(void) {
  const char *address = NULL;
  size_t slot = 0;
  for (unsigned n = 0; n < RETRIES; n++) {
    hak_big_lock();
    struct hak_big_piece piece = hak_big_cache_empty_locked(&address);
    if (piece.address == NULL) piece = hak_big_take_refused_locked(&slot);
    hak_big_unlock();
    if (piece.address == NULL) return;
    hak_big_unmap_piece(piece);
  }
}
