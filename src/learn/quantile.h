/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* quantile.h: a quantile of a stream, without keeping the stream.
 *
 * what      P squared (Jain and Chlamtac, 1985): five markers, at the least value, p/2, p, (1 + p)/2 and the greatest
 *           value. With each value the markers' wanted places grow. A marker that is off by a place moves by a place,
 *           and the height moves along the parabola through the neighbours, or the line if the parabola would break
 *           the order.
 *
 *               height[0] <= height[1] <= ... <= height[4],  place[0] < place[1] < ... < place[4] = told
 *
 * owner     The caller, which serializes all calls. All zeros: no value yet; p is passed with each value
 *           and must stay the same.
 * failure   After 2^31 values further values are ignored.
 */
#ifndef HAK_LEARN_QUANTILE_H
#define HAK_LEARN_QUANTILE_H

#include <stdint.h>

enum { HAK_MARKERS = 5, HAK_P99 = 64881 /* of 1 << 16 */ };

struct hak_quantile {
  uint64_t height[HAK_MARKERS]; /* 1 << 16 is 1; up to the fifth value, the values in ascending order */
  uint32_t place[HAK_MARKERS];  /* 1 .. told */
  uint32_t told;
};

void hak_quantile_note(struct hak_quantile *quantile, uint32_t p, uint32_t value);

/* Rounded; 0 without values. Of up to five values: the least value at or above a share p of the values. */
uint32_t hak_quantile_estimate(const struct hak_quantile *quantile, uint32_t p);

#endif
