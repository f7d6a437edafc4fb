/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* quantile.h: a quantile of a stream, without keeping the stream.
 *
 * what      P squared (Jain and Chlamtac, 1985): five markers at the least, at p/2, at p, at (1 + p)/2 and at the most.
 *           With each value the markers' wanted places grow; one that is off by a place moves by it, and its height
 *           along the parabola through its neighbours, or the line where the parabola would leave their order.
 *
 *               height[0] <= height[1] <= ... <= height[4],  place[0] < place[1] < ... < place[4] = told
 *
 * owner     The caller, who has one thread in here at a time. All zeros is who knows nothing; p is told at each value
 *           and must stay.
 * failure   After 2^31 values no more are taken in.
 */
#ifndef HAK_LEARN_QUANTILE_H
#define HAK_LEARN_QUANTILE_H

#include <stdint.h>

enum { HAK_MARKERS = 5, HAK_P99 = 64881 /* of 1 << 16 */ };

struct hak_quantile {
  uint64_t height[HAK_MARKERS]; /* 1 << 16 is 1; until five are told, these in ascending order */
  uint32_t place[HAK_MARKERS];  /* 1 .. told */
  uint32_t told;
};

void hak_quantile_note(struct hak_quantile *quantile, uint32_t p, uint32_t value);

/* Rounded; 0 when nothing was told. Of fewer than five values: the least that is at or above a share p of them. */
uint32_t hak_quantile_estimate(const struct hak_quantile *quantile, uint32_t p);

#endif
