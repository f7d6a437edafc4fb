/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* poisson.h: the choice of sampled bytes, and the weight of a sample.
 *
 * what      The sampled bytes are points of a Poisson process with one point per `mean` bytes: the gap to the next
 *           point is exponential and independent of all earlier gaps. A block that contains a point is sampled,
 *           independently of all blocks before, with the probability
 *
 *               bytes  |--.----|-----|--|------.--|----    .  a point       1 - exp(-bytes / mean)
 *                         ^                    ^
 *                         sampled              sampled: counts as 1 / probability blocks
 *
 * owner     The caller's word is the state of the random numbers.
 * locks     None. Signal-safe; neither libm nor errno.
 * not here  The counting of bytes: entry/sampled.h.
 */
#ifndef HAK_BASE_POISSON_H
#define HAK_BASE_POISSON_H

#include <stdint.h>

/* Distance to the next point [bytes], at least 1. mean [bytes]: 1 to 2^44. */
uint64_t hak_poisson_gap(uint64_t *state, uint64_t mean);

/* Probability that a block of `bytes` is sampled. */
double hak_poisson_share(uint64_t bytes, uint64_t mean);

#endif
