/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* random.h: pseudo-random numbers, the same on every machine.
 *
 * what      Xorshift of 32 bits (Marsaglia, 2003).
 * owner     The caller's word; 0 is a valid seed.
 */
#ifndef HAK_BASE_RANDOM_H
#define HAK_BASE_RANDOM_H

#include <stdint.h>

/* Random number below n, n <= 2^16. */
static inline uint32_t hak_random_below(uint32_t *state, uint32_t n) {
  uint32_t x = *state != 0 ? *state : 0x9E3779B9u;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  *state = x;
  return (x >> 16) * n >> 16;
}

#endif
