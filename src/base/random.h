/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* random.h: pseudo-random numbers, the same on every machine.
 *
 * what      Two generators: Xorshift of 32 bits (Marsaglia, 2003) for choices that an attacker may know, and SFC64
 *           (Doty-Humphrey, 2010) with 256 bits of state, not linear, for places of blocks in the secure flavour.
 * owner     The caller's words.
 * not here  Seeds: os/chance.h.
 */
#ifndef HAK_BASE_RANDOM_H
#define HAK_BASE_RANDOM_H

#include <stdint.h>

/* Random number below n, n <= 2^16. 0 is a valid seed. */
static inline uint32_t hak_random_below(uint32_t *state, uint32_t n) {
  uint32_t x = *state != 0 ? *state : 0x9E3779B9u;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  *state = x;
  return (x >> 16) * n >> 16;
}

struct hak_chaos {
  uint64_t a, b, c, count;
};

/* 64 random bits. */
static inline uint64_t hak_chaos_next(struct hak_chaos *x) {
  uint64_t sum = x->a + x->b + x->count++;
  x->a = x->b ^ x->b >> 11;
  x->b = x->c + (x->c << 3);
  x->c = (x->c << 24 | x->c >> 40) + sum;
  return sum;
}

/* Mixes three words into the state. */
static inline void hak_chaos_stir(struct hak_chaos *x, uint64_t a, uint64_t b, uint64_t c) {
  enum { ROUNDS = 12 };
  x->a ^= a;
  x->b ^= b;
  x->c ^= c;
  for (int n = 0; n < ROUNDS; n++) hak_chaos_next(x);
}

#endif
