/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* secure.h: the checks of the secure flavour, around each block.
 *
 * what      A block is dressed before it is handed out, undressed before it is freed:
 *
 *               dress     freed? still zero? Else zeroed -> a canary behind the requested bytes; state: live, with the
 *                         requested size
 *               undress   live? canary whole, of the slot before too? -> state: freed; zeroed -> quarantine: an older
 *                         block; still zero?
 *
 *               [ requested bytes ][ canary 8 B ][ rest of the class: zero ]
 *               a big block:  [ requested bytes ][ canary 8 B ][ rest ][ size 8 B ][ page that no access reaches ]
 *
 * owner     A block is the caller's; its state (tables/state.h) changes with it.
 * locks     None. The program's bytes are touched, so no lock may be held.
 * orders    A canary is written before its state says live and cleared after that, as the owner of the slot behind
 *           reads both. Between the two readings of a state the block may have been freed and taken again: then its
 *           canary is whole by the second look.
 * hot path  hak_secure_dress and hak_secure_undress.
 * failure   A block that fails a check ends the program with a line that names the error (os/errors.def).
 * not here  Random places, guard pages between regions: src/blocks, src/runs. What each check stops: docs/security.md.
 */
#ifndef HAK_SECURE_SECURE_H
#define HAK_SECURE_SECURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/config.h"
#include "secure/quarantine.h"
#include "tables/classes.h"
#include "tables/range.h"
#include "tables/state.h"

enum {
  HAK_SECURE_CANARY = 8,                     /* [bytes] behind each block */
  HAK_SECURE_BRIEF = HAK_SMALL_MAX - HAK_SECURE_CANARY, /* [bytes] requests up to here are dressed inline */
  HAK_SECURE_ZEROED = HAK_SLAB_MAX - HAK_SECURE_CANARY  /* [bytes] blocks up to here are zeroed at their free */
};

/* Two random numbers of the process, the second odd; 0 until hak_secure_start. */
extern HAK_HIDDEN struct hak_secret {
  uint64_t add, times;
} g_secret;

/* Draws the secret. Before the first block; a further call does nothing. */
void hak_secure_start(void);

/* Never 0 in its first byte: a string's end is no canary. */
HAK_INLINE uint64_t hak_secure_canary(const void *p) {
  return hak_fold((uintptr_t)p ^ g_secret.add, g_secret.times) | 1;
}

/* [bytes] To be asked of the layers below for a request of n bytes; a size that no process has stays one. */
size_t hak_secure_long_room(size_t n);
HAK_INLINE size_t hak_secure_room(size_t n) {
  return HAK_LIKELY(n < HAK_RUN_MAX - HAK_SECURE_CANARY) ? n + HAK_SECURE_CANARY : hak_secure_long_room(n);
}

/* True if p lies where slabs and runs do: no big or guarded block. */
bool hak_secure_is_in_range(const void *p);

/* As hak_secure_room, where the block at p becomes one of n bytes: a big block that shrinks may stay one. */
size_t hak_secure_room_moved(const void *p, size_t n);

/* For blocks, and errors, that the inline functions leave. */
void hak_secure_dress_any(void *p, size_t n, size_t align);
void *hak_secure_undress_any(void *p, const void *site);

/* 16 bytes, which x86-64 and AArch64 load and store by one instruction. */
typedef uint64_t hak_secure_pair __attribute__((vector_size(16), may_alias));

/* Zeroes 16 bytes, which no compiler makes a call of memset of, or reads them. */
HAK_INLINE hak_secure_pair hak_secure_at(char *p, bool zero) {
  if (!zero) return *(const hak_secure_pair *)p;
  *(volatile hak_secure_pair *)p = (hak_secure_pair){0, 0};
  return (hak_secure_pair){0, 0};
}

/* The first 16 bytes of last + 16, at most 64, and the last, and what lies between: with no branch on the length. */
HAK_INLINE hak_secure_pair hak_secure_sweep_few(char *p, size_t last, bool zero) {
  size_t between = last / 32 * 16;
  return hak_secure_at(p, zero) | hak_secure_at(p + between, zero) | hak_secure_at(p + last - between, zero) |
         hak_secure_at(p + last, zero);
}

/* Zeroes last + 16 bytes, or reads them: returns 0 if all are zero. last and p are multiples of 16. A length is known
 * only with the block's state, so that a branch that was foreseen wrongly would wait for memory: there are few. */
HAK_INLINE uint64_t hak_secure_sweep(char *p, size_t last, bool zero) {
  enum { FEW = 48, LINE = 64 };
  hak_secure_pair seen = {0, 0};
  if (last <= FEW) {
    seen = hak_secure_sweep_few(p, last, zero);
  } else {
    seen = hak_secure_sweep_few(p, FEW, zero) | hak_secure_sweep_few(p + last - FEW, FEW, zero);
    for (size_t at = LINE; HAK_UNLIKELY(at + FEW < last); at += LINE) seen |= hak_secure_sweep_few(p + at, FEW, zero);
  }
  return seen[0] | seen[1];
}

/* True if `bytes` bytes, a multiple of 16, at least 16, are zero. p is a multiple of 16. */
HAK_INLINE bool hak_secure_is_zero(const void *p, size_t bytes) {
  return hak_secure_sweep((char *)(uintptr_t)p, bytes - 16, false) == 0;
}

/* Zeroes `bytes` bytes, at least one, rounded up to 16. p is a multiple of 16. */
HAK_INLINE void hak_secure_zero(void *p, size_t bytes) {
  enum { INLINE = 256 };
  if (HAK_LIKELY(bytes <= INLINE)) hak_secure_sweep((char *)p, (bytes - 1) / 16 * 16, true);
  else hak_libc_memset(p, 0, hak_round_up(bytes, 16));
}

HAK_INLINE uint64_t hak_secure_load(const void *at) {
  uint64_t value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

HAK_INLINE void hak_secure_store(void *at, uint64_t value) { __builtin_memcpy(at, &value, sizeof value); }

/* The class of the slab that p lies in, or of the short runs there; 0: another block's. */
HAK_INLINE unsigned hak_secure_class(const void *p) {
  size_t u = hak_range_unit_of(p);
  return HAK_LIKELY(u < HAK_PEEK(&g_range.units)) ? HAK_PEEK(&g_range.map[u]) : 0;
}

/* A slot of class c becomes a live block of n bytes, at most HAK_SECURE_BRIEF. False: it is not as it should be. */
HAK_INLINE bool hak_secure_dress_slot(void *p, unsigned c, size_t n) {
  size_t bytes = g_class[c].bytes, slack = bytes - n - HAK_SECURE_CANARY;
  uint8_t *state = hak_state_of(p), before = hak_load(state);
  if (HAK_UNLIKELY(slack >= HAK_STATE_SLACK)) return false;
  if (before == HAK_STATE_UNKNOWN) hak_secure_zero(p, bytes);
  else if (HAK_UNLIKELY(before != HAK_STATE_FREED || !hak_secure_is_zero(p, bytes))) return false;
  hak_secure_store((char *)p + n, hak_secure_canary(p));
  hak_store_release(state, (uint8_t)(HAK_STATE_LIVE | slack));
  return true;
}

/* p, asked for with hak_secure_room(n) bytes at a multiple of align, becomes a live block of n bytes. */
HAK_INLINE void hak_secure_dress(void *p, size_t n, size_t align) {
  unsigned c = hak_secure_class(p);
  bool brief = c != 0 && n <= HAK_SECURE_BRIEF && align <= 16;
  if (HAK_UNLIKELY(!brief || !hak_secure_dress_slot(p, c, n))) hak_secure_dress_any(p, n, align);
}

/* Ends the program: the block was written to while it was free, or beside. */
__attribute__((noreturn)) void hak_secure_written(const void *p);
void hak_secure_look_again(const char *p, size_t bytes, uint8_t state);

/* p, a slot of `bytes` bytes, is about to be freed: checks the canary of the slot before, if that is live: with no
 * branch on it, which is as likely as not. Only for short slots: a program may have protected pages of a longer one. */
HAK_INLINE void hak_secure_look_before(const void *p, size_t bytes) {
  const char *before = (const char *)p - bytes;
  if (HAK_UNLIKELY(((uintptr_t)before ^ (uintptr_t)p) >> HAK_UNIT_SHIFT != 0)) return; /* p may begin its slab */
  uint8_t state = hak_load_acquire(hak_state_of(before));
  size_t slack = state & HAK_STATE_SLACK;
  uint64_t canary = hak_secure_load(before + bytes - slack - HAK_SECURE_CANARY), live = -(uint64_t)(state >> 7);
  if (HAK_UNLIKELY(((canary ^ hak_secure_canary(before)) & live) != 0)) hak_secure_look_again(before, bytes, state);
}

/* A block leaves the quarantine: its first 16 bytes are looked at, all others when it is handed out. */
HAK_INLINE void *hak_secure_leaves(void *p) {
  if (HAK_LIKELY(p != NULL) && HAK_UNLIKELY(!hak_secure_is_zero(p, 16))) hak_secure_written(p);
  return p;
}

/* Ends the life of the block at p. Returns the block to be freed in its stead: p, an older one, or NULL. A pointer that
 * no layer would free is returned: the layers below end the program. */
HAK_INLINE void *hak_secure_undress(void *p, const void *site) {
  unsigned c = hak_secure_class(p);
  if (HAK_LIKELY(c != 0 && (uintptr_t)p % 16 == 0)) {
    uint8_t *state = hak_state_of(p), now = hak_load(state);
    unsigned slack = now & HAK_STATE_SLACK;
    if (HAK_LIKELY(now >= HAK_STATE_LIVE && slack != HAK_STATE_SLACK)) {
      size_t bytes = g_class[c].bytes, n = bytes - slack - HAK_SECURE_CANARY;
      if (HAK_LIKELY(n <= HAK_SECURE_BRIEF && hak_secure_load((char *)p + n) == hak_secure_canary(p))) {
        hak_secure_look_before(p, bytes);
        hak_store(state, HAK_STATE_FREED);
        hak_fence_stores();
        hak_secure_zero(p, n + HAK_SECURE_CANARY);
        return hak_secure_leaves(hak_quarantine_swap(p, n));
      }
    }
  }
  return hak_secure_undress_any(p, site);
}

/* [bytes] Requested size of the live block at p; 0 for NULL. Any other p ends the program. */
size_t hak_secure_bytes(const void *p, const void *site);

/* Ends the program unless p is NULL or a live block of n bytes, asked for with this alignment. n = SIZE_MAX, align = 0:
 * not compared. */
void hak_secure_expect_any(const void *p, size_t n, size_t align, const void *site);
HAK_INLINE void hak_secure_expect(const void *p, size_t n, size_t align, const void *site) {
  unsigned c = hak_secure_class(p);
  if (HAK_LIKELY(c != 0 && (uintptr_t)p % 16 == 0)) {
    uint8_t state = hak_load(hak_state_of(p));
    size_t slack = state & HAK_STATE_SLACK;
    bool sized = n == SIZE_MAX || n + slack + HAK_SECURE_CANARY == g_class[c].bytes;
    bool plain = align <= 16 && (state & HAK_STATE_ALIGNED) == 0;
    if (HAK_LIKELY(state >= HAK_STATE_LIVE && slack != HAK_STATE_SLACK && sized && plain)) return;
  }
  hak_secure_expect_any(p, n, align, site);
}

/* True if the live block at p lies in the range and was asked for with an alignment above malloc's. */
bool hak_secure_is_aligned(const void *p);

/* A live block of `have` bytes becomes one of n bytes where it is, if its class is right for that, and its canary
 * whole. */
bool hak_secure_resize(void *p, size_t have, size_t n);

/* The same for a brief block that grows, in one step. False: it is none, does not fit, or is wrong. */
HAK_INLINE bool hak_secure_grow(void *p, size_t n) {
  unsigned c = hak_secure_class(p);
  if (HAK_UNLIKELY(c == 0 || (uintptr_t)p % 16 != 0 || n - 1 >= HAK_SECURE_BRIEF)) return false; /* n may be 0 */
  uint8_t *state = hak_state_of(p), before = hak_load(state);
  size_t slack = before & HAK_STATE_SLACK, room = g_class[c].bytes - HAK_SECURE_CANARY, have = room - slack;
  if (before < HAK_STATE_LIVE || slack == HAK_STATE_SLACK || n > room || n < have) return false;
  if (HAK_UNLIKELY(hak_secure_load((char *)p + have) != hak_secure_canary(p))) return false;
  hak_store(state, HAK_STATE_UNKNOWN); /* a look from the slot behind passes */
  hak_fence_stores();
  hak_secure_store((char *)p + have, 0);
  hak_secure_store((char *)p + n, hak_secure_canary(p));
  hak_store_release(state, (uint8_t)((before & ~(unsigned)HAK_STATE_SLACK) | (room - n)));
  return true;
}

#endif
