/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* chance.h: random choices of the secure flavour. In no other library.
 *
 * what      A generator per thread (base/random.h), seeded at the thread's first draw from the random bytes that the
 *           kernel gives at exec, the clock and the address of the thread. A fork's child inherits the state: each
 *           slab that opens stirs the clock in.
 * owner     The thread. A signal handler that draws in between may repeat or lose a number.
 * orders    Thread-safe and signal-safe.
 */
#ifndef HAK_OS_CHANCE_H
#define HAK_OS_CHANCE_H

#include <stddef.h>
#include <stdint.h>

/* 64 random bits. */
uint64_t hak_chance(void);

/* Random number below n, n > 0. */
static inline uint32_t hak_chance_below(uint32_t n) { return (uint32_t)((hak_chance() >> 32) * n >> 32); }

/* Mixes the clock into the calling thread's generator. */
void hak_chance_stir(void);

/* Puts out[0..n) in a random order within groups of so many, at most 2^16. */
void hak_chance_shuffle(void **out, size_t n, size_t group);

#endif
