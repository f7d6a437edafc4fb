/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big.c: blocks mapped one by one; pages of freed blocks serve later blocks.
 *
 * what      Three ways to a block, in this order: cut from a cached piece; mapped, with pages moved in from cached
 *           pieces if otherwise more would be resident than the keep limit allows; mapped with fresh pages.
 *           The usable size is the request in whole pages.
 *
 *               cache  [ a ][  b  ]          mremap moves page tables, not bytes: a 30th of the cost of the faults
 *                        \     \_____________
 *               block  [ a ][ no pages yet .. ][  b  ]      a was extended, then b moved: a kernel mapping each
 *
 *           Memory that goes back to the kernel: big_unmap.c.
 * owner     g_big.
 * failure   NULL. A table slot is promised before a mapping is made, and while a mapping is cached or unmapped: no
 *           block is half-built, and a refused mapping always has a place. A fork while another thread is inside leaks,
 *           in the child, memory that is neither entered nor cached.
 * not here  The keep limit: big_watermark.c. When time has passed: reclaim/release.c.
 */
#include "blocks/big.h"

#include "base/bits.h"
#include "blocks/big_internal.h"
#include "os/os.h"
#include "retain/cost.h"
#include "retain/footprint.h"
#include "retain/rent.h"
#include "tables/counters.h"

enum { ASKED_BYTES = 32 << 20 }; /* glibc unmaps such a block at once: a program may free it guarded, so a free asks */

static void take_lock(void) {
  if (!hak_lock_take(&g_big.lock)) return;
  hak_big_take_census();
  if (hak_load_acquire(&g_learning) != NULL) g_learning->big_cut();
}

HAK_INLINE void publish_locked(void) {
  hak_store(&g_footprint.big, g_big.live_bytes + g_big.kept_bytes);
  hak_store(&g_footprint.big_cached, g_big.kept_bytes);
  hak_store(&g_footprint.claimed, g_big.claimed_bytes);
}

static HAK_NOINLINE void drop_lock(void) {
  publish_locked();
  hak_lock_drop(&g_big.lock);
}

void hak_big_lock(void) { take_lock(); }
void hak_big_unlock(void) { drop_lock(); }

/* ---- claims ---- */

/* Claims the bytes; false if the hard limit has no room. Claims are published before the check. Runs are published
 * before the check, too (runs/runs.c): of two simultaneous takers at least one sees the bytes of both. */
static bool claim_locked(uint64_t bytes) {
  g_big.claimed_bytes += bytes;
  publish_locked();
  hak_fence();
  bool ok = hak_footprint_allows(0);
  if (!ok) g_big.claimed_bytes -= bytes;
  return ok;
}

/* The claimed bytes are live by now, or could not be mapped. A fork may have cleared the claims meanwhile. */
static void drop_claim_locked(uint64_t bytes) { g_big.claimed_bytes -= hak_min(g_big.claimed_bytes, bytes); }

void hak_big_forget_claims(void) {
  take_lock();
  g_big.claimed_bytes = 0;
  g_big.promised = 0;
  drop_lock();
}

/* ---- moving ---- */

/* True if so many donors fit the batch and the bound on seams: a moved piece makes a seam at both ends. */
static bool may_donate_locked(size_t donors) {
  return donors <= HAK_BIG_BATCH && g_big.seams + 2 * donors <= HAK_BIG_SEAMS;
}

/* Takes a piece's first stretch within a kernel mapping, or the whole piece if the table has no room for the rest. A
 * slot is promised to the rest, too. */
static struct hak_big_piece split_stretch_locked(struct hak_big_piece *rest) {
  struct hak_big_piece first = *rest;
  size_t bytes = hak_big_stretch_locked(rest->address, rest->bytes);
  if (bytes != rest->bytes && hak_big_promise_locked()) first.bytes = bytes;
  rest->address += first.bytes;
  rest->bytes -= first.bytes;
  return first;
}

/* Adds the piece's stretches to the donors. False: the batch or the seams are full; the rest is cached again. */
static bool add_donors_locked(struct hak_big_piece piece, struct hak_big_batch *donors) {
  do {
    donors->piece[donors->n++] = split_stretch_locked(&piece);
    if (may_donate_locked(donors->n + 1)) continue;
    if (piece.bytes != 0) hak_big_cache_add_locked(&piece); /* always fits: the piece came from the cache */
    return false;
  } while (piece.bytes != 0);
  return true;
}

/* Takes pieces whose pages shall move into a block of `bytes` bytes: none if all cached memory may stay beside the
 * block (up to `stay` bytes), else as many as block and batch have room for, as each page that does not move costs a
 * fault. */
static void take_donors_locked(size_t bytes, uint64_t stay, struct hak_big_batch *donors) {
  size_t room = bytes - donors->moved;
  bool goes_on = may_donate_locked(1);
  donors->n = 0;
  while (g_big.kept_bytes > stay && hak_cost_moves(room) && goes_on) {
    struct hak_big_piece piece = hak_big_cache_near_locked(room);
    if (piece.address == NULL) return;
    room -= piece.bytes;
    goes_on = add_donors_locked(piece, donors);
  }
}

/* Swaps the longest donor to the front. */
static void find_longest(struct hak_big_batch *donors) {
  for (size_t i = 1; i < donors->n; i++) {
    struct hak_big_piece piece = donors->piece[i], *first = &donors->piece[0];
    if (piece.bytes > first->bytes) donors->piece[i] = *first, *first = piece;
  }
}

/* Caches the donors again. Donors without room in the cache stay in the batch. */
static void return_donors_locked(struct hak_big_batch *donors) {
  size_t left = 0;
  for (size_t i = 0; i < donors->n; i++) {
    if (!hak_big_cache_add_locked(&donors->piece[i])) donors->piece[left++] = donors->piece[i];
  }
  donors->n = left;
}

static void return_donors(struct hak_big_batch *donors) {
  take_lock();
  return_donors_locked(donors);
  drop_lock();
  hak_big_unmap_batch(donors);
  donors->n = 0;
}

static bool promise(void) {
  take_lock();
  bool promised = hak_big_promise_locked();
  drop_lock();
  return promised;
}

/* Notes that the pages at `from` are now part of a single mapping, [to, to + bytes). */
static void note_move_locked(const char *from, size_t old_bytes, const char *to, size_t bytes) {
  hak_big_drop_seams_locked(from, old_bytes);
  hak_big_add_seam_locked(to);
  hak_big_add_seam_locked(to + bytes);
}

static void count_move(const struct hak_big_piece *piece, const char *to, size_t bytes) {
  take_lock();
  hak_big_drop_promise_locked();
  note_move_locked(piece->address, piece->bytes, to, bytes);
  drop_lock();
  hak_count(HAK_COUNTER_big_moved, 1);
  hak_count(HAK_COUNTER_pages_moved, piece->bytes / hak_os_page_bytes());
}

/* Pieces too short to pay for the kernel call do not move. */
static enum hak_os_moved move_piece(const struct hak_big_piece *piece, char *to) {
  return hak_cost_moves(piece->bytes) ? hak_os_move(piece->address, piece->bytes, to) : HAK_OS_STAYED;
}

/* Moves the donors from index `done` on to the addresses below *end, and lowers *end. A donor that does not move is
 * unmapped. Returns the hole that a torn move left (HAK_OS_TORN), or no piece. */
static struct hak_big_piece move_donors(const struct hak_big_batch *donors, size_t done, char **end) {
  struct hak_big_piece hole = {0};
  for (size_t i = done; i < donors->n; i++) {
    const struct hak_big_piece *piece = &donors->piece[i];
    *end -= piece->bytes;
    enum hak_os_moved moved = move_piece(piece, *end);
    if (moved == HAK_OS_MOVED) count_move(piece, *end, piece->bytes);
    else hak_big_unmap_piece(*piece);
    if (moved == HAK_OS_TORN) hole = (struct hak_big_piece){.address = *end, .bytes = piece->bytes};
  }
  return hole;
}

/* Unmaps [from, end). Without room in the table the memory stays mapped, unrecorded. */
static void unmap_promised(char *from, const char *end) {
  struct hak_big_piece piece = {.address = from, .bytes = (size_t)(end - from)};
  if (piece.bytes != 0 && promise()) hak_big_unmap_piece(piece);
}

/* Unmaps the mapping except for the hole, where foreign memory may lie. */
static void unmap_around(const struct hak_big_piece *hole, const struct hak_big_piece *mapping) {
  unmap_promised(mapping->address, hole->address);
  unmap_promised(hole->address + hole->bytes, mapping->address + mapping->bytes);
}

/* ---- mapping ---- */

/* The site that takes a block, and the block's keep time. */
struct owner {
  unsigned site, keep;
};

static void set_owner(struct hak_big_piece *block, struct owner owner, uint64_t now) {
  block->site = (uint16_t)owner.site;
  block->keep = (uint8_t)owner.keep;
  block->since_ms = now;
}

struct mapping {
  struct hak_big_piece piece;
  bool refused; /* neither aligned, nor could the kernel unmap it */
};

/* Unmaps the excess in front of the aligned block and behind. A tail that the kernel refuses to unmap is cached without
 * pages; a front that the kernel refuses to unmap makes the mapping useless. */
static struct mapping trim_to(char *p, size_t bytes, size_t align) {
  char *q = (char *)hak_round_up((uintptr_t)p, align);
  size_t front = (size_t)(q - p), tail = align - front;
  if (front != 0 && !hak_os_unmap(p, front)) {
    bool gone = hak_os_unmap(p, bytes + align);
    return (struct mapping){{.address = gone ? NULL : p, .bytes = bytes + align}, !gone};
  }
  unmap_promised(q + bytes, q + bytes + tail);
  return (struct mapping){{.address = q, .bytes = bytes}, false};
}

static struct mapping map_aligned(size_t bytes, size_t align) {
  if (align <= hak_os_page_bytes()) return (struct mapping){{.address = hak_os_map(bytes), .bytes = bytes}, false};
  char *p = bytes + align < bytes ? NULL : hak_os_map(bytes + align);
  return p == NULL ? (struct mapping){0} : trim_to(p, bytes, align);
}

static size_t batch_bytes(const struct hak_big_batch *batch) {
  size_t bytes = batch->moved;
  for (size_t i = 0; i < batch->n; i++) bytes += batch->piece[i].bytes;
  return bytes;
}

static void note_fetched(unsigned site, size_t bytes) {
  hak_site_fetched(site, bytes / hak_os_page_bytes());
  hak_count(HAK_COUNTER_fetched_bytes, bytes);
}

static void enter_mapped_locked(const struct hak_big_piece *block, size_t moved) {
  hak_big_enter_locked(block);
  hak_site_taken(block->site, block->bytes);
  note_fetched(block->site, block->bytes - hak_min(moved, block->bytes));
  hak_watermark_note_misfit(&g_big_cache[block->keep].level, hak_min(block->bytes, g_big.kept_bytes));
}

/* Extends the longest donor to the length of the block: a single kernel call and a single mapping. No address: the
 * block needs an alignment, no donors, or the kernel refused. */
static struct mapping extend_first(size_t bytes, size_t align, struct hak_big_batch *donors) {
  const struct hak_big_piece *first = &donors->piece[0];
  find_longest(donors);
  bool may = donors->n != 0 && align <= hak_os_page_bytes();
  char *p = may ? hak_os_remap(first->address, first->bytes, bytes) : NULL;
  if (p != NULL) count_move(first, p, bytes);
  return (struct mapping){{.address = p, .bytes = bytes}, false};
}

/* Takes the next batch of donors; none if the last batch was not full. */
static void take_more_donors(size_t bytes, unsigned keep, struct hak_big_batch *donors) {
  bool full = donors->n == HAK_BIG_BATCH;
  donors->moved = batch_bytes(donors);
  donors->n = 0;
  if (!full) return;
  take_lock();
  take_donors_locked(bytes, hak_big_keep_limit_beside_locked(keep, bytes), donors);
  drop_lock();
}

/* Moves the donors from index `done` on, and all further donors batch by batch, to the end of the block. Returns the
 * hole that a torn move left, or no piece: a process meets at most one. */
static struct hak_big_piece move_all(const struct mapping *m, size_t bytes, unsigned keep, struct hak_big_batch *donors,
                                     size_t done) {
  struct hak_big_piece hole = {0};
  char *end = m->piece.address + bytes;
  for (; donors->n != 0; done = 0) {
    struct hak_big_piece lost = move_donors(donors, done, &end);
    if (lost.address != NULL) hole = lost;
    take_more_donors(bytes, keep, donors);
  }
  return hole;
}

static void *map_promised(size_t bytes, size_t align, struct owner owner, struct hak_big_batch *donors) {
  struct mapping m = extend_first(bytes, align, donors);
  bool extended = m.piece.address != NULL;
  bool huge = donors->n == 0 && hak_big_wants_huge(bytes);
  if (!extended) m = map_aligned(bytes, huge ? hak_max(align, hak_os_huge_bytes()) : align);
  bool usable = m.piece.address != NULL && !m.refused;
  struct hak_big_piece hole = {0};
  if (usable) hole = move_all(&m, bytes, owner.keep, donors, extended);
  else return_donors(donors);
  if (HAK_UNLIKELY(hole.address != NULL)) unmap_around(&hole, &m.piece), usable = false;
  if (usable && batch_bytes(donors) == 0) m.piece.fetch = hak_big_fetch_fresh(&m.piece, huge);
  else if (usable) hak_big_unadvise(m.piece.address, bytes);
  uint64_t now = hak_os_now_ms();
  set_owner(&m.piece, owner, now);
  take_lock();
  drop_claim_locked(bytes);
  if (usable) enter_mapped_locked(&m.piece, batch_bytes(donors));
  else hak_big_drop_promise_locked();
  if (m.refused) hak_big_refuse_locked(m.piece);
  hak_big_note_locked(m.piece.keep, now);
  drop_lock();
  return usable ? m.piece.address : NULL;
}

/* ---- allocate and free ---- */

/* Drops the lock meanwhile. */
static HAK_NOINLINE void withdraw_huge_locked(const struct hak_big_piece *block) {
  drop_lock();
  hak_big_unadvise(block->address, block->bytes);
  take_lock();
}

/* The block, out of the table, becomes a piece with pages and without advice. */
HAK_INLINE void end_fetch_locked(struct hak_big_piece *block) {
  if (HAK_UNLIKELY((block->fetch & HAK_BIG_HUGE) != 0)) withdraw_huge_locked(block);
  block->empty = false;
}

/* 0 if the clock went back: the child of a process may have an earlier clock (time_namespaces(7)). */
static uint64_t since(uint64_t then, uint64_t now) { return now - hak_min(then, now); }

static void *reuse_locked(size_t bytes, size_t align, struct owner owner, uint64_t now, bool *zero) {
  struct hak_big_piece piece = hak_big_cache_fit_locked(bytes, align, owner.site);
  if (piece.address == NULL) return NULL;
  *zero = piece.empty;
  hak_site_hit(owner.site, piece.site, since(piece.since_ms, now));
  hak_site_taken(owner.site, bytes);
  set_owner(&piece, owner, now);
  piece.fetch = 0;
  hak_big_enter_locked(&piece);
  hak_big_note_locked(piece.keep, now);
  hak_count(HAK_COUNTER_big_hits, 1);
  return piece.address;
}

/* Promises a slot, takes donors and claims the bytes of a new mapping. False: no room in the table, or hard limit. */
static bool begin_map_locked(size_t bytes, unsigned keep, bool clean, struct hak_big_batch *donors) {
  hak_big_set_rent_locked();
  if (!hak_big_promise_locked()) return false;
  if (!clean) take_donors_locked(bytes, hak_big_keep_limit_beside_locked(keep, bytes), donors);
  if (claim_locked(bytes)) return true;
  hak_big_drop_promise_locked();
  return_donors_locked(donors);
  return false;
}

/* Maps a block. Drops the lock. Not inlined, as the frame holds a batch and some programs have stacks of a page.
 * *again: the kernel is out of memory, and an empty cache may help. */
static HAK_NOINLINE void *map_block_locked(size_t bytes, size_t align, struct owner owner, bool *zero, bool *again) {
  struct hak_big_batch donors;
  donors.n = donors.moved = 0;
  /* no donors: moved pages would have to be cleared, or would take a huge page's place in an aligned block */
  bool clean = *zero || align >= hak_os_huge_bytes();
  bool maps = begin_map_locked(bytes, owner.keep, clean, &donors);
  *zero = false;
  drop_lock();
  *again = maps;
  if (!maps) {
    hak_big_unmap_batch(&donors);
    return NULL;
  }
  void *p = map_promised(bytes, align, owner, &donors);
  *zero = donors.moved == 0;
  return p;
}

void *hak_big_alloc(size_t n, size_t align, unsigned site, bool *zero) {
  size_t bytes = hak_round_up(n, hak_os_page_bytes());
  bool empty;
  take_lock();
  uint64_t now = hak_os_now_ms();
  struct owner owner = {site, hak_big_keep_locked(site, bytes, now)};
  void *p = reuse_locked(bytes, align, owner, now, &empty);
  if (p != NULL) {
    *zero = empty;
    drop_lock();
    return p;
  }
  bool clean = *zero, again;
  p = map_block_locked(bytes, align, owner, zero, &again);
  if (HAK_UNLIKELY(p == NULL) && again && hak_big_trim(0) != 0) {
    *zero = clean;
    take_lock();
    p = map_block_locked(bytes, align, owner, zero, &again);
  }
  if (p != NULL) hak_big_evict(UINT64_MAX, HAK_BIG_PIECES);
  return p;
}

/* True if no part of the memory is guarded, locked or otherwise marked by the program, as the next owner would inherit
 * the marks; a mark on the whole of it is one mapping, too, and is not seen. Memory with seams passes unasked: moved
 * pages are several mappings anyway. Drops the lock meanwhile. */
static bool is_plain_locked(const struct hak_big_piece *piece) {
  if (hak_big_stretch_locked(piece->address, piece->bytes) != piece->bytes) return true;
  drop_lock();
  bool plain = hak_os_is_plain(piece->address, piece->bytes);
  take_lock();
  return plain;
}

size_t hak_big_free(void *p) {
  take_lock();
  struct hak_big_piece block;
  bool live = hak_big_erase_locked(hak_big_find_locked((uintptr_t)p), &block);
  uint64_t now = hak_os_now_ms();
  if (HAK_LIKELY(live)) hak_site_freed(block.site, hak_big_usable(&block), since(block.since_ms, now));
  block.since_ms = now;
  if (HAK_LIKELY(live)) hak_big_learn_freed_locked(&block, now);
  if (HAK_LIKELY(g_big.keeps == 0)) hak_big_note_locked(block.keep, now);
  else hak_big_note_all_locked(now); /* time passes for all keep times */
  end_fetch_locked(&block);
  bool plain = HAK_LIKELY(block.bytes < ASKED_BYTES) || is_plain_locked(&block);
  bool full = live && !(plain && hak_big_cache_add_locked(&block));
  hak_big_settle_locked();
  if (full) hak_big_unmap_piece(block);
  return block.bytes;
}

/* ---- resize ---- */

/* Enters the block again after a resize of a mapping of `bytes` bytes. */
static void *enter_resized_locked(struct hak_big_piece *block, size_t bytes, size_t slack) {
  size_t before = hak_big_usable(block);
  block->bytes = bytes;
  block->slack = (uint32_t)slack;
  hak_big_enter_locked(block);
  hak_site_resized(block->site, before, hak_big_usable(block));
  return block->address;
}

/* Shortens the block in place; *rest: the memory cut off, promised. */
static void *shorten_locked(struct hak_big_slot *s, size_t bytes, struct hak_big_piece *rest) {
  struct hak_big_piece block;
  hak_big_erase_locked(s, &block);
  *rest = block;
  rest->address += bytes;
  rest->bytes -= bytes;
  rest->since_ms = hak_os_now_ms();
  enter_resized_locked(&block, bytes, 0);
  g_big.promised++; /* room: checked by the caller */
  return block.address;
}

/* Extends the block by its slack. */
static void *use_slack_locked(struct hak_big_slot *s, size_t bytes) {
  struct hak_big_piece block;
  hak_big_erase_locked(s, &block);
  return enter_resized_locked(&block, block.bytes, block.bytes - bytes);
}

/* Extends the block by cached memory right behind, if long enough. NULL: none there. The slot stays valid, as the table
 * has room. */
static void *lengthen_locked(struct hak_big_slot *s, size_t bytes) {
  size_t have = hak_big_bytes_of(s->facts);
  struct hak_big_piece rest = hak_big_cache_next_locked((char *)s->address + have, bytes - have);
  if (rest.address == NULL) return NULL;
  struct hak_big_piece block;
  hak_big_erase_locked(s, &block);
  hak_big_drop_promise_locked();
  block.fetch &= HAK_BIG_HUGE;
  return enter_resized_locked(&block, bytes, 0);
}

/* Resizes without a new mapping; NULL if impossible. *old: bytes of the block's mapping; 0: no such block, or no room
 * in the table. */
static void *resize_here_locked(void *p, size_t bytes, size_t *old, struct hak_big_piece *rest) {
  bool room = hak_big_has_room_locked(2); /* a resize leaves a tombstone and takes a slot */
  struct hak_big_slot *s = hak_big_find_locked((uintptr_t)p);
  *old = room && s != NULL ? hak_big_bytes_of(s->facts) : 0;
  size_t usable = *old != 0 ? hak_big_usable_of(s->facts) : 0;
  if (*old == 0 || bytes == usable) return *old != 0 ? p : NULL;
  if (bytes > *old) return lengthen_locked(s, bytes);
  return bytes > usable ? use_slack_locked(s, bytes) : shorten_locked(s, bytes, rest);
}

/* Extends by mremap, at a new address if need be, with the lock dropped for the kernel call. Meanwhile the block is out
 * of the table, as the kernel may hand its addresses to a different thread, and the new length is claimed. NULL: the
 * hard limit has no room, or the kernel refuses, as for a block of several kernel mappings. A block that is guarded at
 * its start is not tried: the added memory would be guarded, too. The pages are not copied here, as a signal handler of
 * the program may allocate. */
static void *grow_by_kernel_locked(char *from, size_t old, size_t bytes) {
  struct hak_big_piece block;
  if (!claim_locked(bytes - old)) return NULL;
  hak_big_erase_locked(hak_big_find_locked((uintptr_t)from), &block);
  g_big.claimed_bytes += old;
  drop_lock();
  char *q = hak_os_is_guarded(from) ? NULL : hak_os_remap(from, old, bytes);
  hak_count(HAK_COUNTER_fetched_bytes, q != NULL ? bytes - old : 0);
  if (q != NULL) block.fetch = hak_big_grow_huge(&block, q, bytes);
  take_lock();
  drop_claim_locked(bytes);
  if (q != NULL && q != from) note_move_locked(from, old, q, bytes);
  if (q != NULL) block.address = q, enter_resized_locked(&block, bytes, 0);
  else hak_big_enter_locked(&block);
  return q;
}

void *hak_big_resize(void *p, size_t n) {
  struct hak_big_piece rest;
  size_t bytes = hak_round_up(n, hak_os_page_bytes()), old;
  rest.address = NULL;
  take_lock();
  void *q = resize_here_locked(p, bytes, &old, &rest);
  if (rest.address != NULL) end_fetch_locked(&rest);
  bool full = rest.address != NULL && !(is_plain_locked(&rest) && hak_big_cache_add_locked(&rest));
  if (q == NULL && old != 0) q = grow_by_kernel_locked(p, old, bytes);
  hak_big_note_all_locked(hak_os_now_ms());
  hak_big_settle_locked();
  if (full) hak_big_unmap_piece(rest);
  return q;
}

/* Enters the rest of a block without its first `gone` bytes, if there is a rest. */
static void enter_rest_locked(const struct hak_big_piece *block, size_t gone) {
  struct hak_big_piece rest = *block;
  rest.address += gone;
  rest.bytes -= gone;
  if (hak_big_usable(&rest) != 0) {
    hak_big_enter_locked(&rest);
    hak_site_resized(rest.site, hak_big_usable(block), hak_big_usable(&rest));
    g_big.promised++; /* room: checked by the caller */
  } else {
    hak_site_freed(block->site, gone, since(block->since_ms, hak_os_now_ms()));
  }
}

void *hak_big_shed(void *p, size_t bytes) {
  struct hak_big_piece block;
  take_lock();
  struct hak_big_slot *s = hak_big_has_room_locked(2) ? hak_big_find_locked((uintptr_t)p) : NULL;
  bool live = hak_big_erase_locked(s, &block), all = live && bytes == hak_big_usable(&block);
  if (live) enter_rest_locked(&block, bytes);
  drop_lock();
  if (!all) block.bytes = bytes;
  block.empty = false;
  if (live) hak_big_unmap_piece(block);
  return all ? NULL : live ? block.address + bytes : p;
}
