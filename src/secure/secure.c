/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* secure.c: the checks of the secure flavour that are not inlined: see secure.h.
 *
 * what      Blocks longer than 1 KiB, aligned ones, runs, big blocks and guarded ones; and the errors.
 */
#include "secure/secure.h"

#include "blocks/big.h"
#include "blocks/guarded.h"
#include "blocks/large.h"
#include "blocks/slab_sampled.h"
#include "os/chance.h"
#include "os/die.h"
#include "os/guard.h"
#include "os/os.h"
#include "os/seal.h"

enum { SIZE_BYTES = 8 }; /* of a big block's requested size, in front of its last page */

HAK_SEALED struct hak_secret g_secret;

/* Two numbers of hak_os_random would be the same. */
void hak_secure_start(void) {
  if (g_secret.times != 0) return;
  enum hak_seal_state seal = hak_unseal();
  if (seal != HAK_SEAL_SHUT) g_secret = (struct hak_secret){.add = hak_chance(), .times = hak_chance() | 1};
  hak_reseal(seal);
}

size_t hak_secure_long_room(size_t n) {
  size_t more = HAK_SECURE_CANARY + SIZE_BYTES + hak_os_page_bytes();
  return n < HAK_REQUEST_END - more ? n + more : SIZE_MAX;
}

/* ---- errors ---- */

static _Noreturn void die(enum hak_error error, const void *p, const void *site) {
  unsigned c = hak_range_class(p);
  hak_die(error, p, hak_is_slab_class(c) ? g_class[c].bytes : 0, site);
}

void hak_secure_written(const void *p) { die(HAK_ERROR_written, p, NULL); }

/* The slot may have another owner by now. */
void hak_secure_look_again(const char *p, size_t bytes, uint8_t state) {
  enum { LOOKS = 4 };
  size_t slack = state & HAK_STATE_SLACK, n = bytes - slack - HAK_SECURE_CANARY;
  if (slack == HAK_STATE_SLACK) return; /* its size is elsewhere */
  for (int i = 0; i < LOOKS; i++) {
    hak_fence();
    if (hak_secure_load(p + n) == hak_secure_canary(p)) return;
    hak_fence();
    if (hak_load(hak_state_of(p)) != state) return;
  }
  die(HAK_ERROR_overrun, p, NULL);
}

/* True if p was a block. A byte inside a run may be of a block that was freed there before. */
static bool was_freed(uint32_t run, const void *p) {
  if ((uintptr_t)p % 16 != 0 || hak_load(hak_state_of(p)) != HAK_STATE_FREED) return false;
  bool slab = hak_load(&hak_range_entry(run)->kind) == HAK_UNIT_SLAB;
  const void *block = slab ? NULL : hak_large_block_of(run, p);
  return block == NULL || block == p;
}

/* p lies in the range and is no live block. Returns where the layers below know the error better. */
static void refuse_pointer(const void *p, const void *site) {
  uint32_t run = hak_range_run_of(p);
  if (run != HAK_NO_UNIT) die(was_freed(run, p) ? HAK_ERROR_double_free : HAK_ERROR_interior, p, site);
}

/* ---- the requested size of a block in the range ---- */

enum { SEVEN = 7, SIZE_AT = 1, SIZE_END = 8 };

/* Seven bits a byte: none looks like a live block's. In all more than a process has addresses: M_MMAP_MAX = 0 puts
 * blocks of any length into the range. Blocks with such a size have 128 bytes at least, and 8 of state. */
static void write_size(uint8_t *state, size_t n) {
  for (unsigned i = SIZE_AT; i < SIZE_END; i++, n >>= SEVEN) hak_store(&state[i], (uint8_t)(n & 0x7f));
}

static size_t read_size(const uint8_t *state) {
  size_t n = 0;
  for (unsigned i = SIZE_END; i-- > SIZE_AT;) n = n << SEVEN | hak_load(&state[i]);
  return n;
}

/* [bytes] Of the slot that p begins; 0: p begins a run. */
static size_t slot_bytes(const void *p) {
  unsigned c = hak_range_class(p);
  return hak_is_slab_class(c) ? g_class[c].bytes : c == 0 ? hak_slab_sampled_bytes(p) : 0;
}

static size_t size_of(const void *p, uint8_t state) {
  size_t slack = state & HAK_STATE_SLACK;
  if (slack == HAK_STATE_SLACK) return read_size(hak_state_of(p));
  return slot_bytes(p) - slack - HAK_SECURE_CANARY;
}

static bool is_live(const void *p) { return (uintptr_t)p % 16 == 0 && hak_load(hak_state_of(p)) >= HAK_STATE_LIVE; }

bool hak_secure_is_in_range(const void *p) { return hak_range_unit_of(p) < hak_load(&g_range.units); }

size_t hak_secure_room_moved(const void *p, size_t n) {
  return hak_secure_is_in_range(p) ? hak_secure_room(n) : hak_secure_long_room(n);
}

/* ---- in the range: dress ---- */

static void mark_live(void *p, size_t n, size_t bytes, size_t align) {
  uint8_t *state = hak_state_of(p);
  size_t slack = bytes != 0 ? bytes - n - HAK_SECURE_CANARY : SIZE_MAX;
  if (slack >= HAK_STATE_SLACK) write_size(state, n);
  uint8_t aligned = align > 16 ? HAK_STATE_ALIGNED : 0;
  hak_secure_store((char *)p + n, hak_secure_canary(p));
  hak_store_release(state, (uint8_t)(HAK_STATE_LIVE | aligned | hak_min(slack, HAK_STATE_SLACK)));
}

/* A slot is zero from its begin to its end, whatever its next owner asks for. */
static void make_zero(void *p, size_t bytes, uint8_t state) {
  if (state == HAK_STATE_UNKNOWN) hak_libc_memset(p, 0, bytes);
  else if (state == HAK_STATE_FREED && !hak_secure_is_zero(p, bytes)) die(HAK_ERROR_written, p, NULL);
}

/* The caller zeroed a short run as far as it was asked for; the rest of its class has bytes of earlier blocks. */
static void clear_rest(char *p, size_t n) {
  size_t room = n + HAK_SECURE_CANARY, bytes = room <= HAK_RUN_MAX ? hak_large_bytes(hak_range_run_of(p), p) : 0;
  if (bytes > room) hak_libc_memset(p + room, 0, bytes - room);
}

static void dress_in_range(void *p, size_t n, size_t align) {
  uint8_t state = hak_load(hak_state_of(p));
  size_t bytes = slot_bytes(p);
  if (state > HAK_STATE_FREED && bytes != 0) die(HAK_ERROR_torn, p, NULL);
  if (bytes != 0) make_zero(p, bytes, state);
  else clear_rest(p, n);
  mark_live(p, n, bytes, align);
}

/* ---- out of the range: big and guarded blocks ---- */

/* Beside the size, that the block was asked for with an alignment above malloc's: no size is as long. */
#define SAID ((uint64_t)1 << 63)

static uint64_t size_word(const void *p, size_t n, bool said) {
  return (n | (said ? SAID : 0)) ^ hak_secure_canary((const char *)p + 1);
}

static char *last_page(const void *p, size_t bytes) { return (char *)(uintptr_t)p + bytes - hak_os_page_bytes(); }

/* Refused, the page stays as it is. */
static void dress_big(char *p, size_t n, size_t align) {
  size_t bytes = hak_big_bytes(p);
  char *guard = last_page(p, bytes);
  memset(p + n, 0, (size_t)(guard - p) - n);
  hak_secure_store(p + n, hak_secure_canary(p));
  hak_secure_store(guard - SIZE_BYTES, size_word(p, n, align > 16));
  hak_os_guard(guard, hak_os_page_bytes());
}

static void dress_outside(char *p, size_t n, size_t align) {
  if (hak_guarded_holds(p)) hak_guarded_shorten(p, n);
  else dress_big(p, n, align);
}

static uint64_t word_of(const char *p, size_t bytes) {
  return hak_secure_load(last_page(p, bytes) - SIZE_BYTES) ^ size_word(p, 0, false);
}

/* [bytes] Requested size; SIZE_MAX: the word was overwritten. 0 may be right. */
static size_t size_outside(const char *p, size_t bytes) {
  if (hak_guarded_holds(p)) return bytes;
  size_t n = word_of(p, bytes) & ~SAID;
  size_t most = bytes - hak_os_page_bytes() - SIZE_BYTES - HAK_SECURE_CANARY;
  return n <= most ? n : SIZE_MAX;
}

static size_t bytes_outside(const void *p) {
  return hak_guarded_holds(p) ? hak_guarded_bytes(p) : hak_big_bytes(p);
}

void hak_secure_dress_any(void *p, size_t n, size_t align) {
  if (hak_secure_is_in_range(p)) dress_in_range(p, n, align);
  else dress_outside(p, n, align);
}

/* ---- undress ---- */

static bool canary_is_whole(const char *p, size_t n) { return hak_secure_load(p + n) == hak_secure_canary(p); }

static void *undress_in_range(char *p, const void *site) {
  uint8_t *state = hak_state_of(p);
  if (!is_live(p)) return refuse_pointer(p, site), p;
  size_t n = size_of(p, hak_load(state)), bytes = slot_bytes(p);
  if (!canary_is_whole(p, n)) die(HAK_ERROR_overrun, p, site);
  if (bytes != 0 && bytes <= HAK_SMALL_MAX) hak_secure_look_before(p, bytes);
  hak_store(state, HAK_STATE_FREED);
  hak_fence_stores();
  if (bytes != 0) hak_secure_zero(p, n + HAK_SECURE_CANARY);
  else hak_secure_store(p + n, 0);
  return bytes != 0 ? hak_secure_leaves(hak_quarantine_swap(p, n)) : p;
}

/* True if nothing was written between the canary of a big block and its size. */
static bool rest_is_zero(const char *p, size_t n, size_t bytes) {
  const char *at = p + n + HAK_SECURE_CANARY, *end = last_page(p, bytes) - SIZE_BYTES;
  uint64_t seen = 0;
  for (; at < end && (uintptr_t)at % 8 != 0; at++) seen |= (uint8_t)*at;
  for (; at < end; at += 8) seen |= hak_secure_load(at);
  return seen == 0;
}

static void *undress_outside(char *p, const void *site) {
  size_t bytes = hak_guarded_holds(p) ? 0 : hak_big_bytes(p), n = bytes != 0 ? size_outside(p, bytes) : 0;
  if (bytes == 0) return p;
  if (n == SIZE_MAX || !canary_is_whole(p, n) || !rest_is_zero(p, n, bytes)) die(HAK_ERROR_overrun, p, site);
  bool opened = hak_os_unguard(last_page(p, bytes), hak_os_page_bytes());
  if (!opened) return NULL; /* never freed: its pages are no other's */
  hak_secure_store(p + n, 0);
  hak_secure_store(last_page(p, bytes) - SIZE_BYTES, 0); /* the pages may become a grown block's */
  return p;
}

void *hak_secure_undress_any(void *p, const void *site) {
  if (p == NULL) return NULL;
  return hak_secure_is_in_range(p) ? undress_in_range(p, site) : undress_outside(p, site);
}

/* ---- questions ---- */

size_t hak_secure_bytes(const void *p, const void *site) {
  if (p == NULL) return 0;
  if (hak_secure_is_in_range(p) && !is_live(p)) refuse_pointer(p, site);
  if (hak_secure_is_in_range(p)) return is_live(p) ? size_of(p, hak_load(hak_state_of(p))) : SIZE_MAX;
  size_t bytes = bytes_outside(p), n = bytes != 0 ? size_outside(p, bytes) : SIZE_MAX;
  if (bytes != 0 && n == SIZE_MAX) die(HAK_ERROR_overrun, p, site);
  return n;
}

bool hak_secure_is_aligned(const void *p) {
  if (hak_secure_is_in_range(p)) return (hak_load(hak_state_of(p)) & HAK_STATE_ALIGNED) != 0;
  size_t bytes = hak_guarded_holds(p) ? 0 : hak_big_bytes(p);
  return bytes != 0 && (word_of(p, bytes) & SAID) != 0;
}

static bool is_aligned_as(const void *p, size_t align) {
  if ((uintptr_t)p % align != 0) return false;
  bool said = align > 16;
  return hak_guarded_holds(p) || said == hak_secure_is_aligned(p);
}

/* A pointer that is no live block is left to the free that follows. */
void hak_secure_expect_any(const void *p, size_t n, size_t align, const void *site) {
  if (p == NULL || (hak_secure_is_in_range(p) ? !is_live(p) : bytes_outside(p) == 0)) return;
  size_t least = hak_guarded_holds(p); /* a guarded block has a byte at least */
  if (n != SIZE_MAX && hak_max(n, least) != hak_secure_bytes(p, site)) die(HAK_ERROR_resized, p, site);
  if (align != 0 && !is_aligned_as(p, align)) die(HAK_ERROR_realigned, p, site);
}

/* ---- resize ---- */

/* An eighth may be left over: programs shrink buffers to save memory. */
static bool suits_slot(size_t bytes, size_t room) {
  enum { SPARE_SHIFT = 3 };
  if (room > bytes) return false;
  return bytes - room <= bytes >> SPARE_SHIFT || g_class[hak_class_of(room)].bytes == bytes;
}

/* A big block that needs as many pages as before: its guard stays. */
static bool resize_big(char *p, size_t have, size_t n) {
  size_t bytes = hak_guarded_holds(p) ? 0 : hak_big_bytes(p), page = hak_os_page_bytes();
  if (bytes == 0 || n >= bytes || hak_round_up(n + HAK_SECURE_CANARY + SIZE_BYTES, page) + page != bytes) return false;
  if (!canary_is_whole(p, have) || !rest_is_zero(p, have, bytes)) return false;
  size_t least = hak_min(have, n);
  memset(p + least, 0, have + HAK_SECURE_CANARY - least);
  hak_secure_store(p + n, hak_secure_canary(p));
  hak_secure_store(last_page(p, bytes) - SIZE_BYTES, size_word(p, n, hak_secure_is_aligned(p)));
  return true;
}

bool hak_secure_resize(void *p, size_t have, size_t n) {
  unsigned c = hak_range_class(p);
  if (!hak_secure_is_in_range(p)) return resize_big(p, have, n);
  if (!hak_is_slab_class(c) || n > HAK_SECURE_ZEROED || !suits_slot(g_class[c].bytes, hak_secure_room(n))) return false;
  if (!canary_is_whole(p, have)) return false; /* the free behind the copy ends the program */
  size_t least = hak_min(have, n);
  uint8_t *state = hak_state_of(p), before = hak_load(state);
  hak_store(state, HAK_STATE_UNKNOWN); /* a look from the slot behind passes */
  hak_fence_stores();
  for (char *at = (char *)p + least; at != (char *)p + have; at++) *at = 0;
  hak_secure_store((char *)p + have, 0);
  mark_live(p, n, g_class[c].bytes, before & HAK_STATE_ALIGNED ? 32 : 16);
  return true;
}
