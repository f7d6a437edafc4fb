/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bits.h: small arithmetic on words.
 *
 * what      Rounding, powers of two, counting zeros, roots, branch hints.
 * owner     Pure functions.
 * hot path  HAK_LIKELY, HAK_UNLIKELY.
 * failure   An argument of 0 is excluded where the comment says so.
 * not here  Atomics: atomic.h.
 */
#ifndef HAK_BASE_BITS_H
#define HAK_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/config.h"

#define HAK_LIKELY(x) __builtin_expect(!!(x), 1)
#define HAK_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HAK_INLINE static inline __attribute__((always_inline))
#define HAK_NOINLINE __attribute__((noinline))
/* Gives the enclosing function a stack frame. For functions between the program's function and the code that walks the
 * chain of frames, which must not break. */
#define HAK_KEEP_FRAME() __asm__ volatile("" : : "r"(__builtin_frame_address(0)))
/* On `extern` data: addressed directly, not through the table of exported names. */
#define HAK_HIDDEN __attribute__((visibility("hidden")))
/* On zero data. The linker sorts by name (cmake/HakLibraries.cmake): first the words that every process touches,
 * together on few pages; then tables touched with the first block; then, by `place`, tables of which a small process
 * touches the beginning; last, data that a small process does not touch. */
#define HAK_TABLE __attribute__((section(".bss.table")))
#define HAK_TABLE_AT(place) __attribute__((section(".bss.table." #place)))
#define HAK_RARE __attribute__((section(".bss.unlikely")))
/* On data that is not zero: behind the rows of the size classes, whose page is the first (tables/classes.c). */
#define HAK_DATA __attribute__((section(".data.word")))
/* On constants that contain no addresses: placed behind the constants that a small process reads. */
#define HAK_RARE_CONSTANT __attribute__((section(".rodata.unlikely")))
/* On data that does not change after the start of the process: read-only from then on in the secure flavour. A later
 * store stands between hak_unseal and hak_reseal (os/seal.h). */
#if HAK_SECURE
#define HAK_SEALED __attribute__((section(".sealed")))
#define HAK_SEALED_OR_RARE HAK_SEALED
#define HAK_SEALED_OR_DATA HAK_SEALED
#else
#define HAK_SEALED
#define HAK_SEALED_OR_RARE HAK_RARE
#define HAK_SEALED_OR_DATA HAK_DATA
#endif

HAK_INLINE bool hak_is_power_of_two(size_t n) { return n != 0 && (n & (n - 1)) == 0; }

/* n rounded up to a multiple of `to`, a power of two. The caller excludes overflow. */
HAK_INLINE size_t hak_round_up(size_t n, size_t to) { return (n + to - 1) & ~(to - 1); }

/* Index of the lowest set bit; n != 0. */
HAK_INLINE unsigned hak_lowest_bit(uint64_t n) { return (unsigned)__builtin_ctzll(n); }

/* Index of the highest set bit, floor(log2(n)); n != 0. */
HAK_INLINE unsigned hak_highest_bit(uint64_t n) { return 63u - (unsigned)__builtin_clzll(n); }

/* n rotated right by less than 64 bits. */
HAK_INLINE uint64_t hak_rotate_right(uint64_t n, unsigned bits) { return n >> bits | n << (-bits & 63); }

/* Both halves of a product, in one: neither factor can be computed from it, nor from a few (no cipher all the same). */
HAK_INLINE uint64_t hak_fold(uint64_t a, uint64_t b) {
  __extension__ unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Square root of n, rounded down. */
static inline uint32_t hak_root(uint64_t n) {
  uint64_t root = 0;
  for (uint64_t bit = 1ull << 62; bit != 0; bit >>= 2) {
    bool fits = n >= root + bit;
    n -= fits ? root + bit : 0;
    root = (root >> 1) + (fits ? bit : 0);
  }
  return (uint32_t)root;
}

HAK_INLINE size_t hak_min(size_t a, size_t b) { return a < b ? a : b; }
HAK_INLINE uint64_t hak_less(uint64_t a, uint64_t b) { return a < b ? 0 : a - b; } /* max(a - b, 0) */
HAK_INLINE size_t hak_max(size_t a, size_t b) { return a > b ? a : b; }

#endif
