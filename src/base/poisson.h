/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* poisson.h: which bytes are sampled, and how many a sample stands for.
 *
 * what      Bytes are points of a Poisson process with one point in `mean` of them: the gap to the next is exponential,
 *           and knows nothing of what lay before. A block that holds a point is sampled, each by itself with
 *
 *               bytes  |--.----|-----|--|------.--|----    .  a point       1 - exp(-bytes / mean)
 *                         ^                    ^
 *                         sampled              sampled    and stands for as many blocks as one divided by that
 *
 * owner     The caller's word is the state of its chance.
 * locks     None. Signal-safe; neither libm nor errno.
 * not here  Who counts bytes: entry/sampled.h.
 */
#ifndef HAK_BASE_POISSON_H
#define HAK_BASE_POISSON_H

#include <stdint.h>

/* Bytes to the next point, at least 1. mean: 1 to 2^44. */
uint64_t hak_poisson_gap(uint64_t *state, uint64_t mean);

/* With what chance a block of so many bytes is sampled. */
double hak_poisson_share(uint64_t bytes, uint64_t mean);

#endif
