/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* meta.c: memory for HAKMEM's own tables.
 *
 * what      A cursor and ten free lists; see meta.h for the drawing. The first chunk lies in the library's zero data:
 *           a tiny process needs no second chunk, and shares the first chunk's pages with other tables; the secure
 *           flavour has chunks between guards only (apart.h). To touch few
 *           pages, bytes that the cursor skips for alignment go on the free lists, and a longer free piece of up to a
 *           page is split before the cursor moves on.
 * owner     g_meta, g_meta_newest.
 * locks     g_meta.lock. In a fork's child that takes the lock over from a thread of its parent, the lists and the rest
 *           of the chunk are dropped: pieces leak, and no piece has two owners.
 * orders    Under the lock. A chunk's head is written before g_meta_newest names the chunk, for readers without the
 *           lock.
 * failure   NULL.
 * not here  Unmapping chunks: chunks stay for good.
 */
#include "tables/meta.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "os/lock.h"
#include "os/os.h"
#include "tables/apart.h"
#include "tables/hold.h"

enum { SMALLEST_LOG = 4, LISTS = 10, LINES = 128, PAGE = 4096 };
enum { FIRST_CHUNK = 64 << 10, LARGEST_CHUNK = 1 << 20, RESERVE = 2 << 20 };

struct piece {
  struct piece *next;
};

uintptr_t g_meta_newest;

static struct {
  struct hak_lock lock;
  uintptr_t cursor, end;
  size_t chunk_bytes, mapped_bytes;
  bool own_used; /* the first chunk was carved */
  struct piece *list[LISTS];
} g_meta;

/* Placed behind tables that the first block touches, on the same page if there is room: the array has no alignment. */
HAK_TABLE_AT(2) char g_meta_first[HAK_META_OWN_BYTES];

static size_t list_bytes(unsigned list) { return (size_t)1 << (list + SMALLEST_LOG); }

static unsigned list_of(size_t bytes) {
  return bytes <= 16 ? 0 : hak_highest_bit(bytes - 1) + 1 - SMALLEST_LOG;
}

static void forget_all(void) {
  for (unsigned i = 0; i < LISTS; i++) g_meta.list[i] = NULL;
  g_meta.cursor = g_meta.end = 0;
}

static void put_memory_locked(void *p, unsigned i) {
  struct piece *piece = p;
  piece->next = g_meta.list[i];
  g_meta.list[i] = piece;
}

/* Takes a free piece of list i, or splits a longer piece of up to a page; NULL: no such piece. */
static void *take_memory_locked(unsigned i) {
  unsigned j = i;
  while (j < LISTS && g_meta.list[j] == NULL) j++;
  if (j == LISTS || (j != i && list_bytes(j) > PAGE)) return NULL;
  struct piece *p = g_meta.list[j];
  g_meta.list[j] = p->next;
  while (j-- > i) put_memory_locked((char *)p + list_bytes(j), j);
  return p;
}

static void *map_pages(size_t bytes) { return HAK_SECURE ? hak_apart_map(bytes) : hak_os_map(bytes); }

static void *map_chunk(size_t bytes) {
  struct hak_meta_chunk *chunk = map_pages(bytes);
  if (chunk == NULL) return NULL;
  *chunk = (struct hak_meta_chunk){g_meta_newest, bytes};
  hak_store_release(&g_meta_newest, (uintptr_t)chunk);
  hak_store(&g_meta.mapped_bytes, g_meta.mapped_bytes + bytes);
  g_meta.cursor = (uintptr_t)(chunk + 1);
  g_meta.end = (uintptr_t)chunk + bytes;
  return chunk;
}

static void use_own(void) {
  g_meta.cursor = hak_round_up((uintptr_t)g_meta_first, list_bytes(0));
  g_meta.end = (uintptr_t)g_meta_first + sizeof g_meta_first;
  g_meta.own_used = true;
}

static bool add_chunk_locked(void) {
  size_t page = hak_os_page_bytes(), least = hak_round_up(FIRST_CHUNK, page);
  size_t want = hak_holds_all() ? RESERVE : hak_min(hak_max(g_meta.chunk_bytes * 2, FIRST_CHUNK), LARGEST_CHUNK);
  size_t bytes = hak_round_up(want, page);
  if (map_chunk(bytes) == NULL && map_chunk(bytes = least) == NULL) return false;
  g_meta.chunk_bytes = bytes;
  if (hak_holds_all()) hak_os_populate((void *)g_meta_newest, bytes, true);
  return true;
}

void *hak_meta_map(size_t bytes) {
  void *p = map_pages(bytes);
  if (p != NULL && hak_holds_all()) hak_os_populate(p, bytes, true);
  return p;
}

static void populate_chunks(void) {
  const struct hak_meta_chunk *chunk;
  for (uintptr_t at = hak_load_acquire(&g_meta_newest); at != 0; at = chunk->before) {
    chunk = (const struct hak_meta_chunk *)at;
    hak_os_populate((void *)at, chunk->bytes, true);
  }
}

/* Starts a new, populated chunk even if the old chunk has room; the rest of the old chunk leaks. */
void hak_meta_reserve(void) {
  populate_chunks();
  if (hak_lock_take(&g_meta.lock)) forget_all();
  g_meta.own_used = true;
  add_chunk_locked();
  hak_lock_drop(&g_meta.lock);
}

/* Moves the cursor up to a multiple of `align`. The skipped bytes go on the free lists in pieces. */
static void skip_locked(size_t align) {
  while (g_meta.cursor % align != 0) {
    unsigned i = hak_lowest_bit(g_meta.cursor) - SMALLEST_LOG;
    void *p = (void *)g_meta.cursor;
    g_meta.cursor += list_bytes(i);
    put_memory_locked(p, i);
  }
}

static void *carve_locked(size_t bytes, size_t align) {
  if (!HAK_SECURE && !g_meta.own_used) use_own();
  bool fits = g_meta.cursor != 0 && hak_round_up(g_meta.cursor, align) + bytes <= g_meta.end;
  if (!fits && !add_chunk_locked()) return NULL;
  skip_locked(align);
  uintptr_t p = g_meta.cursor;
  g_meta.cursor = p + bytes;
  return (void *)p;
}

void *hak_meta_get(size_t bytes) {
  unsigned i = list_of(bytes);
  if (hak_lock_take(&g_meta.lock)) forget_all();
  void *p = take_memory_locked(i);
  if (p == NULL) p = carve_locked(list_bytes(i), hak_min(list_bytes(i), PAGE));
  hak_lock_drop(&g_meta.lock);
  return p;
}

void *hak_meta_get_for_good(size_t bytes) {
  if (hak_lock_take(&g_meta.lock)) forget_all();
  void *p = carve_locked(hak_round_up(bytes, LINES), LINES);
  hak_lock_drop(&g_meta.lock);
  return p;
}

void hak_meta_put(void *p, size_t bytes) {
  if (hak_lock_take(&g_meta.lock)) forget_all();
  put_memory_locked(p, list_of(bytes));
  hak_lock_drop(&g_meta.lock);
}

size_t hak_meta_bytes(void) { return sizeof g_meta_first + hak_load(&g_meta.mapped_bytes); }

void hak_meta_extents(struct hak_extents *list) {
  uintptr_t at = hak_load_acquire(&g_meta_newest);
  for (const struct hak_meta_chunk *chunk; at != 0; at = chunk->before) {
    chunk = (const struct hak_meta_chunk *)at;
    hak_extents_add(list, chunk, chunk->bytes, HAK_EXTENT_METADATA);
  }
  hak_extents_add(list, g_meta_first, sizeof g_meta_first, HAK_EXTENT_METADATA);
}
