/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* random.h: repeatable random numbers.
 *
 * what      splitmix64 (Steele, Lea and Flood 2014): a state of 64 bits, every run and every allocator sees the same
 *           sequence. random_below is uniform up to a bias of 2^-32; random_order is a shuffle (Fisher and Yates 1938).
 * owner     The caller owns the state; each thread has a separate state.
 * hot path  Three multiplications a number. Rows in nanoseconds draw their numbers before the timing starts.
 * not here  Seeds: each row has its own.
 */
#ifndef HAKMEM_BENCH_RANDOM_H
#define HAKMEM_BENCH_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0..bound-1 */
static inline uint32_t random_below(struct random *r, uint32_t bound)
{
    return (uint32_t)(((random_next(r) >> 32) * bound) >> 32);
}

/* low..high, both included */
static inline uint32_t random_between(struct random *r, uint32_t low, uint32_t high)
{
    return low + random_below(r, high - low + 1);
}

/* A random order of 0..count-1. */
static inline void random_order(struct random *r, uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = random_below(r, i), keep = order[i - 1];
        order[i - 1] = order[j];
        order[j] = keep;
    }
}

#endif
