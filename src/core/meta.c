/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* meta.c: memory for HAKMEM's own tables.
 *
 * what      A cursor and ten free lists; see meta.h for the drawing.
 * owner     g_meta.
 * locks     g_meta.lock. A vanished holder: the lists and the rest of the chunk are dropped: pieces leak, none is
 *           held twice.
 * orders    Under the lock; a chunk's head is written before it is the newest, for who goes through them without.
 * failure   NULL.
 * not here  Giving chunks back.
 */
#include "core/meta.h"

#include <stdint.h>

#include "base/bits.h"
#include "core/rent.h"
#include "os/lock.h"
#include "os/os.h"

enum { SMALLEST_LOG = 4, LISTS = 10, FIRST_CHUNK = 64 << 10, LARGEST_CHUNK = 1 << 20, RESERVE = 2 << 20 };

struct piece {
  struct piece *next;
};

struct chunk {
  uintptr_t before;
  size_t bytes;
};

/* Of the first chunk's address, which has no head: a tiny process would have a page more for it. */
#define HEADLESS ((uintptr_t)1)

static struct {
  struct hak_lock lock;
  uintptr_t cursor, end;
  size_t chunk_bytes, mapped_bytes;
  uintptr_t newest;
  struct piece *list[LISTS];
} g_meta;

static unsigned list_of(size_t bytes) {
  return bytes <= 16 ? 0 : hak_highest_bit(bytes - 1) + 1 - SMALLEST_LOG;
}

static void forget_all(void) {
  for (unsigned i = 0; i < LISTS; i++) g_meta.list[i] = NULL;
  g_meta.cursor = g_meta.end = 0;
}

static size_t first_chunk_bytes(void) { return hak_round_up(FIRST_CHUNK, hak_os_page_bytes()); }

/* Where its pieces begin. */
static uintptr_t note_chunk(struct chunk *chunk, size_t bytes) {
  bool first = g_meta.newest == 0;
  if (!first) *chunk = (struct chunk){g_meta.newest, bytes};
  hak_store_release(&g_meta.newest, (uintptr_t)chunk | (first ? HEADLESS : 0));
  return (uintptr_t)(first ? chunk : chunk + 1);
}

static bool add_chunk_locked(void) {
  size_t bytes = hak_max(g_meta.chunk_bytes * 2, FIRST_CHUNK);
  bytes = hak_round_up(hak_rent_holds() ? RESERVE : hak_min(bytes, LARGEST_CHUNK), hak_os_page_bytes());
  struct chunk *chunk = hak_os_map(bytes);
  if (chunk == NULL) chunk = hak_os_map(bytes = first_chunk_bytes());
  if (chunk == NULL) return false;
  g_meta.cursor = note_chunk(chunk, bytes);
  g_meta.chunk_bytes = bytes;
  hak_store(&g_meta.mapped_bytes, g_meta.mapped_bytes + bytes);
  g_meta.end = (uintptr_t)chunk + bytes;
  if (hak_rent_holds()) hak_os_populate(chunk, bytes, true);
  return true;
}

/* A new chunk, even where the old one has room: what is left of that is lost. */
void hak_meta_reserve(void) {
  if (hak_lock_take(&g_meta.lock)) forget_all();
  add_chunk_locked();
  hak_lock_drop(&g_meta.lock);
}

static void *carve_locked(size_t bytes) {
  size_t align = hak_min(bytes, 4096);
  uintptr_t p = hak_round_up(g_meta.cursor, align);
  if (g_meta.cursor == 0 || p + bytes > g_meta.end) {
    if (!add_chunk_locked()) return NULL;
    p = hak_round_up(g_meta.cursor, align);
  }
  g_meta.cursor = p + bytes;
  return (void *)p;
}

void *hak_meta_get(size_t bytes) {
  unsigned i = list_of(bytes);
  if (hak_lock_take(&g_meta.lock)) forget_all();
  struct piece *p = g_meta.list[i];
  if (p != NULL) {
    g_meta.list[i] = p->next;
  } else {
    p = carve_locked((size_t)1 << (i + SMALLEST_LOG));
  }
  hak_lock_drop(&g_meta.lock);
  return p;
}

void hak_meta_put(void *p, size_t bytes) {
  struct piece *piece = p;
  unsigned i = list_of(bytes);
  if (hak_lock_take(&g_meta.lock)) forget_all();
  piece->next = g_meta.list[i];
  g_meta.list[i] = piece;
  hak_lock_drop(&g_meta.lock);
}

size_t hak_meta_bytes(void) { return hak_load(&g_meta.mapped_bytes); }

void hak_meta_extents(struct hak_extents *list) {
  uintptr_t at = hak_load_acquire(&g_meta.newest);
  for (const struct chunk *chunk; at != 0 && !(at & HEADLESS); at = chunk->before) {
    chunk = (const struct chunk *)at;
    hak_extents_add(list, chunk, chunk->bytes, HAK_EXTENT_METADATA);
  }
  if (at != 0) hak_extents_add(list, (const void *)(at & ~HEADLESS), first_chunk_bytes(), HAK_EXTENT_METADATA);
}
