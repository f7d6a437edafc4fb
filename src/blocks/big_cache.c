/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_cache.c: memory of freed big blocks, cached as pieces of any length.
 *
 * what      Pieces are joined with adjacent pieces and cut to the requested length, without a kernel call. A piece may
 *           span several kernel mappings (seams).
 *
 *               by address   [ 3 MiB ][ live ][ 9 MiB  . . . . ][ live ]
 *               asked 8 MiB                   [ taken ][ 1 MiB ]
 *
 * not here  How much is cached: big.c.
 */
#include "base/bits.h"
#include "blocks/big_internal.h"
#include "os/os.h"
#include "retain/footprint.h"

/* A shorter remainder of a piece is slack of the block: as pieces, many of these would fill the cache. */
enum { LEAST_BYTES = 64 << 10 };

HAK_RARE struct hak_big_piece g_big_piece[HAK_BIG_PIECES + 1];

static const struct hak_big_piece none;

static void count_piece(const struct hak_big_piece *piece) {
  g_big.empties += piece->empty;
  *(piece->empty ? &g_big.empty_bytes : &g_big.kept_bytes) += piece->bytes;
}

static void count_out(const struct hak_big_piece *piece) {
  g_big.empties -= piece->empty;
  *(piece->empty ? &g_big.empty_bytes : &g_big.kept_bytes) -= piece->bytes;
}

/* ---- joining ---- */

/* Index of the first piece at or above the address. */
static size_t place_of(uintptr_t address) {
  size_t low = 0, high = g_big.pieces;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if ((uintptr_t)g_big_piece[middle].address < address) low = middle + 1;
    else high = middle;
  }
  return low;
}

static void insert_at(size_t i, const struct hak_big_piece *piece) {
  if (i < g_big.pieces) __builtin_memmove(&g_big_piece[i + 1], &g_big_piece[i], (g_big.pieces - i) * sizeof *piece);
  g_big_piece[i] = *piece;
  g_big.pieces++;
}

static void remove_at(size_t i) {
  g_big.pieces--;
  struct hak_big_piece *hole = &g_big_piece[i];
  if (i < g_big.pieces) __builtin_memmove(hole, hole + 1, (g_big.pieces - i) * sizeof *hole);
}

/* If piece i touches the next piece, extends piece i over both; the age is that of the longer part. The caller removes
 * the next piece. */
static bool join_at(size_t i) {
  struct hak_big_piece *front = &g_big_piece[i], *back = &g_big_piece[i + 1];
  bool joins = i + 1 < g_big.pieces && front->address + front->bytes == back->address && front->empty == back->empty;
  if (!joins) return false;
  if (back->bytes > front->bytes) front->since_ms = back->since_ms;
  front->bytes += back->bytes;
  front->plain = front->plain && back->plain;
  g_big.empties -= front->empty;
  return true;
}

bool hak_big_cache_add_locked(const struct hak_big_piece *piece) {
  size_t i = place_of((uintptr_t)piece->address);
  if (g_big.pieces > HAK_BIG_PIECES) return false;
  hak_big_drop_promise_locked();
  count_piece(piece);
  insert_at(i, piece);
  g_big_piece[i].last = (uint32_t)(piece->bytes >> 12);
  g_big_piece[i].plain = false;
  if (join_at(i)) remove_at(i + 1);
  if (i > 0 && join_at(i - 1)) remove_at(i);
  return true;
}

/* ---- cutting ---- */

/* Takes the whole piece and promises a slot. */
static struct hak_big_piece take_whole(size_t i) {
  struct hak_big_piece piece = g_big_piece[i];
  count_out(&piece);
  remove_at(i);
  g_big.promised++;
  return piece;
}

/* Cuts [from, from + bytes) out of the piece and promises a slot. Room for the remainders: checked by the caller. */
static struct hak_big_piece cut_piece(size_t i, size_t from, size_t bytes) {
  struct hak_big_piece *left = &g_big_piece[i], back = *left, taken = back;
  taken.address += from;
  taken.bytes = bytes;
  back.address = taken.address + bytes;
  back.bytes -= from + bytes;
  back.last = 0;
  if ((size_t)left->last << 12 > from) left->last = 0;
  count_out(left);
  left->bytes = from;
  if (from == 0) *left = back;
  else if (back.bytes != 0) insert_at(i + 1, &back), count_piece(&back);
  count_piece(left);
  g_big.promised++;
  return taken;
}

/* Like cut_piece, which leaves up to two remainders. No piece: no room for them in cache or table. */
static struct hak_big_piece cut(size_t i, size_t from, size_t bytes) {
  if (HAK_LIKELY(bytes == g_big_piece[i].bytes)) return take_whole(i);
  return g_big.pieces < HAK_BIG_PIECES && hak_big_has_room_locked(2) ? cut_piece(i, from, bytes) : none;
}

static size_t gap_before(const struct hak_big_piece *piece, size_t align) {
  return hak_round_up((uintptr_t)piece->address, align) - (uintptr_t)piece->address;
}

/* True if the piece fits better than the best so far: shorter, or as long and the site's own. */
HAK_INLINE bool is_better(const struct hak_big_piece *piece, size_t best_bytes, size_t best, unsigned site) {
  if (HAK_UNLIKELY(piece->bytes == best_bytes)) return piece->site == site && g_big_piece[best].site != site;
  return piece->bytes < best_bytes;
}

/* True if this site freed a block of this length at the piece's start, and no other block there since. */
static bool is_last_at(const struct hak_big_piece *piece, size_t bytes, unsigned site) {
  return (size_t)piece->last << 12 == bytes && piece->site == site && site != 0;
}

/* Withdraws advice for huge pages from all of the piece, once: what is cut off later, before a block is freed there,
 * costs no call. The lock is held, as the piece may be unmapped when it is dropped; the call takes 0.5 to 4 us. */
static void make_plain(struct hak_big_piece *piece) {
  if (piece->plain || piece->bytes < hak_os_huge_bytes()) return;
  hak_big_unadvise(piece->address, piece->bytes);
  piece->plain = true;
}

struct hak_big_piece hak_big_cache_fit_locked(size_t bytes, size_t align, unsigned site) {
  size_t best = g_big.pieces, best_bytes = SIZE_MAX;
  for (size_t i = 0; i < g_big.pieces; i++) {
    const struct hak_big_piece *piece = &g_big_piece[i];
    size_t gap = gap_before(piece, align);
    if (!is_better(piece, best_bytes, best, site) || piece->bytes < bytes || piece->bytes - bytes < gap) continue;
    if (piece->empty && !hak_footprint_allows(bytes)) continue;
    best = i;
    best_bytes = piece->bytes;
  }
  if (best == g_big.pieces) return none;
  size_t gap = gap_before(&g_big_piece[best], align), rest = best_bytes - gap - bytes;
  size_t slack = rest < LEAST_BYTES ? rest : 0;
  if (gap != 0 || !is_last_at(&g_big_piece[best], bytes, site)) make_plain(&g_big_piece[best]);
  struct hak_big_piece piece = cut(best, gap, bytes + slack);
  piece.slack = (uint32_t)slack;
  return piece;
}

struct hak_big_piece hak_big_cache_next_locked(const char *address, size_t bytes) {
  size_t i = place_of((uintptr_t)address);
  struct hak_big_piece *at = &g_big_piece[i];
  bool fits = i < g_big.pieces && at->address == address && at->bytes >= bytes && !at->empty;
  if (fits) make_plain(at);
  return fits ? cut(i, 0, bytes) : none;
}

/* True if a is better than b to take `most` bytes of: the shortest piece that is long enough, else the longest. */
static bool is_nearer(const struct hak_big_piece *a, const struct hak_big_piece *b, size_t most) {
  return b->bytes >= most ? a->bytes >= most && a->bytes < b->bytes : a->bytes > b->bytes;
}

struct hak_big_piece hak_big_cache_near_locked(size_t most) {
  size_t best = g_big.pieces;
  for (size_t i = 0; i < g_big.pieces; i++) {
    if (g_big_piece[i].empty) continue;
    if (best == g_big.pieces || is_nearer(&g_big_piece[i], &g_big_piece[best], most)) best = i;
  }
  return best == g_big.pieces ? none : cut(best, 0, hak_min(g_big_piece[best].bytes, most));
}

/* [bytes] from the end of the piece: `bytes`, and where memory may hold huge pages more, down to a region's border. */
static size_t up_to_border(const struct hak_big_piece *piece, size_t bytes) {
  if (HAK_LIKELY(!hak_big_may_be_huge()) || bytes >= piece->bytes) return bytes;
  return bytes + ((uintptr_t)piece->address + piece->bytes - bytes) % hak_os_huge_bytes();
}

struct hak_big_piece hak_big_cache_oldest_locked(size_t bytes, bool whole) {
  size_t oldest = g_big.pieces;
  for (size_t i = 0; i < g_big.pieces; i++) {
    if (g_big_piece[i].empty) continue;
    if (oldest == g_big.pieces || g_big_piece[i].since_ms < g_big_piece[oldest].since_ms) oldest = i;
  }
  if (oldest == g_big.pieces) return none;
  bytes = up_to_border(&g_big_piece[oldest], bytes);
  if (whole || bytes >= g_big_piece[oldest].bytes) return take_whole(oldest);
  struct hak_big_piece part = cut(oldest, g_big_piece[oldest].bytes - bytes, bytes);
  return part.address != NULL ? part : take_whole(oldest);
}

struct hak_big_piece hak_big_cache_empty_locked(const char **from) {
  for (size_t i = place_of((uintptr_t)*from); g_big.empties != 0 && i < g_big.pieces; i++) {
    if (!g_big_piece[i].empty) continue;
    *from = g_big_piece[i].address + g_big_piece[i].bytes;
    return take_whole(i);
  }
  return none;
}

bool hak_big_cache_has_locked(uintptr_t address) {
  size_t i = place_of(address + 1);
  return i > 0 && address - (uintptr_t)g_big_piece[i - 1].address < g_big_piece[i - 1].bytes;
}

void hak_big_cache_extents_locked(struct hak_extents *list) {
  for (size_t i = 0; i < g_big.pieces; i++) {
    const struct hak_big_piece *piece = &g_big_piece[i];
    hak_extents_add(list, piece->address, piece->bytes, piece->empty ? HAK_EXTENT_EMPTY : HAK_EXTENT_KEPT);
  }
}
