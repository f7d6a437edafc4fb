/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guarded.c: single blocks between pages that no access reaches.
 *
 * what      See guarded.h. Slots wait in a ring, oldest first; a freed one waits until those before it were taken.
 * locks     g_guarded.lock. After a takeover (os/lock.h) the ring is made anew from the states; a slot that a vanished
 *           thread was changing is lost.
 */
#include "blocks/guarded.h"

#include "os/lock.h"
#include "os/os.h"

enum { PATTERN = 0xa7, ALIGN = 16 };

HAK_RARE struct hak_guarded_pool g_guarded_pool;

static HAK_RARE struct {
  struct hak_lock lock;
  struct hak_guarded *slot;
  uint32_t first, waiting; /* of the ring */
  uint8_t ring[HAK_GUARDED_SLOTS];
} g_guarded;

/* ---- places ---- */

size_t hak_guarded_most(void) { return hak_os_page_bytes(); }

/* Page 2 i + 1 of the pool is slot i's, the others stay shut. */
static uintptr_t page_of(uint32_t i) { return g_guarded_pool.first + (2 * (uintptr_t)i + 1) * hak_os_page_bytes(); }

static uint32_t slot_number(const struct hak_guarded *slot) { return (uint32_t)(slot - g_guarded.slot); }

/* ---- the ring, under the lock ---- */

static void append_locked(uint32_t i) {
  g_guarded.ring[(g_guarded.first + g_guarded.waiting) % HAK_GUARDED_SLOTS] = (uint8_t)i;
  g_guarded.waiting++;
}

static uint32_t shift_locked(void) {
  uint32_t i = g_guarded.ring[g_guarded.first];
  g_guarded.first = (g_guarded.first + 1) % HAK_GUARDED_SLOTS;
  g_guarded.waiting--;
  return i;
}

static void rebuild_ring(void) {
  g_guarded.first = g_guarded.waiting = 0;
  for (uint32_t i = 0; i < HAK_GUARDED_SLOTS; i++) {
    uint32_t state = hak_load(&g_guarded.slot[i].state);
    if (state == HAK_GUARDED_EMPTY || state == HAK_GUARDED_FREED) append_locked(i);
  }
}

static void lock_guarded(void) {
  if (hak_lock_take(&g_guarded.lock) && g_guarded.slot != NULL) rebuild_ring();
}

/* ---- the pool ---- */

static bool make_pool_locked(void) {
  size_t page = hak_os_page_bytes(), bytes = (2 * HAK_GUARDED_SLOTS + 1) * page;
  size_t table = hak_round_up(HAK_GUARDED_SLOTS * sizeof *g_guarded.slot, page);
  struct hak_guarded *slot = hak_os_map(table);
  void *pool = slot != NULL ? hak_os_reserve(bytes) : NULL;
  if (pool == NULL) {
    if (slot != NULL) hak_os_unmap(slot, table);
    return false;
  }
  g_guarded.slot = slot;
  rebuild_ring();
  hak_store(&g_guarded_pool.bytes, bytes);
  hak_store_release(&g_guarded_pool.first, (uintptr_t)pool);
  return true;
}

static void wait_in_ring(struct hak_guarded *slot) {
  lock_guarded();
  hak_store_release(&slot->state, HAK_GUARDED_FREED);
  append_locked(slot_number(slot));
  hak_lock_drop(&g_guarded.lock);
}

/* ---- take ---- */

static struct hak_guarded *begin_slot(void) {
  lock_guarded();
  bool made = g_guarded.slot != NULL || make_pool_locked();
  struct hak_guarded *slot = made && g_guarded.waiting != 0 ? &g_guarded.slot[shift_locked()] : NULL;
  if (slot != NULL) hak_store_release(&slot->state, HAK_GUARDED_CHANGING);
  hak_lock_drop(&g_guarded.lock);
  return slot;
}

/* A block at the end of its page leaves a gap where n is no multiple of the alignment. */
static uintptr_t place_block(uintptr_t page, size_t n, uint32_t chance) {
  return chance % 4 == 0 ? page : page + hak_os_page_bytes() - hak_round_up(n, ALIGN);
}

void *hak_guarded_take(size_t n, uint32_t chance, const struct hak_guarded_stack *taken) {
  size_t page_bytes = hak_os_page_bytes();
  struct hak_guarded *slot = n <= page_bytes ? begin_slot() : NULL;
  if (slot == NULL) return NULL;
  uintptr_t page = page_of(slot_number(slot));
  if (!hak_os_open((void *)page, page_bytes)) return NULL; /* lost: the page may be another mapping's by now */
  slot->bytes = (uint32_t)hak_max(n, 1);
  slot->address = place_block(page, slot->bytes, chance);
  slot->taken = *taken;
  slot->freed.depth = 0;
  memset((void *)page, PATTERN, slot->address - page);
  memset((void *)(slot->address + slot->bytes), PATTERN, page + page_bytes - slot->address - slot->bytes);
  hak_store_release(&slot->state, HAK_GUARDED_LIVE);
  return (void *)slot->address;
}

/* The slot whose page p lies in; NULL: p lies in a page between. */
static struct hak_guarded *slot_at(const void *p) {
  size_t page = ((uintptr_t)p - g_guarded_pool.first) / hak_os_page_bytes();
  return page % 2 == 1 ? &g_guarded.slot[page / 2] : NULL;
}

uintptr_t hak_guarded_overrun(const struct hak_guarded *slot) {
  const uint8_t *page = (const uint8_t *)page_of(slot_number(slot)), *end = page + hak_os_page_bytes();
  const uint8_t *block = (const uint8_t *)slot->address;
  for (const uint8_t *p = block + slot->bytes; p < end; p++) {
    if (*p != PATTERN) return (uintptr_t)p;
  }
  for (const uint8_t *p = block; p-- > page;) {
    if (*p != PATTERN) return (uintptr_t)p;
  }
  return 0;
}

void hak_guarded_shorten(void *p, size_t n) {
  struct hak_guarded *slot = slot_at(p);
  n = hak_max(n, 1);
  memset((char *)p + n, PATTERN, slot->bytes - n);
  slot->bytes = (uint32_t)n;
}

/* ---- put ---- */

static enum hak_error judge_put(const struct hak_guarded *slot, const void *p, uint32_t state) {
  if (state == HAK_GUARDED_EMPTY) return HAK_ERROR_released;
  if (slot->address != (uintptr_t)p) return HAK_ERROR_interior;
  return state == HAK_GUARDED_LIVE ? HAK_ERROR_none : HAK_ERROR_double_free;
}

enum hak_error hak_guarded_judge(const void *p) {
  const struct hak_guarded *slot = slot_at(p);
  enum hak_error error = slot != NULL ? judge_put(slot, p, hak_load_acquire(&slot->state)) : HAK_ERROR_released;
  return error != HAK_ERROR_none ? error : HAK_ERROR_released; /* taken meanwhile */
}

/* Of several threads that free one block, one finds it live. */
static enum hak_error claim(struct hak_guarded *slot, const void *p) {
  lock_guarded();
  enum hak_error error = judge_put(slot, p, hak_load(&slot->state));
  if (error == HAK_ERROR_none) hak_store_release(&slot->state, HAK_GUARDED_CHANGING);
  hak_lock_drop(&g_guarded.lock);
  return error;
}

enum hak_error hak_guarded_put(void *p, const struct hak_guarded_stack *freed) {
  struct hak_guarded *slot = slot_at(p);
  enum hak_error error = slot != NULL ? claim(slot, p) : HAK_ERROR_released;
  if (error != HAK_ERROR_none) return error;
  if (hak_guarded_overrun(slot) != 0) {
    hak_store_release(&slot->state, HAK_GUARDED_LIVE);
    return HAK_ERROR_overrun;
  }
  slot->freed = *freed;
  /* A page that stays open is lost, as one that is changing for ever: a late use would reach the next block. */
  if (hak_os_shut((void *)page_of(slot_number(slot)), hak_os_page_bytes())) wait_in_ring(slot);
  return HAK_ERROR_none;
}

/* ---- questions ---- */

size_t hak_guarded_bytes(const void *p) {
  const struct hak_guarded *slot = slot_at(p);
  bool live = slot != NULL && hak_load_acquire(&slot->state) == HAK_GUARDED_LIVE && slot->address == (uintptr_t)p;
  return live ? slot->bytes : 0;
}

size_t hak_guarded_around(const void *p) {
  const struct hak_guarded *slot = slot_at(p);
  bool live = slot != NULL && hak_load_acquire(&slot->state) == HAK_GUARDED_LIVE;
  return live && (uintptr_t)p - slot->address < slot->bytes ? slot->bytes : 0;
}

/* A page between belongs to the block that is nearer: an overflow of the one in front, or an underflow of the other. */
static size_t distance(const struct hak_guarded *slot, uintptr_t p) {
  uintptr_t end = slot->address + slot->bytes;
  return p < slot->address ? slot->address - p : p < end ? 0 : p - end + 1;
}

static const struct hak_guarded *better(const struct hak_guarded *a, const struct hak_guarded *b, uintptr_t p) {
  bool has_a = hak_load_acquire(&a->state) != HAK_GUARDED_EMPTY;
  bool has_b = hak_load_acquire(&b->state) != HAK_GUARDED_EMPTY;
  if (has_a != has_b) return has_a ? a : b;
  return distance(a, p) <= distance(b, p) ? a : b;
}

const struct hak_guarded *hak_guarded_near(const void *p) {
  size_t page = ((uintptr_t)p - g_guarded_pool.first) / hak_os_page_bytes(), last = HAK_GUARDED_SLOTS - 1;
  const struct hak_guarded *front = &g_guarded.slot[page == 0 ? 0 : (page - 1) / 2];
  const struct hak_guarded *back = &g_guarded.slot[hak_min(page / 2, last)];
  const struct hak_guarded *found = page % 2 == 1 ? front : better(front, back, (uintptr_t)p);
  return hak_load_acquire(&found->state) != HAK_GUARDED_EMPTY ? found : NULL;
}
