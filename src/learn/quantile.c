/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* quantile.c: a quantile of a stream, without keeping the stream; see quantile.h.
 *
 * what      Heights have 16 bits of fraction, shares of a span 14 bits: a product is below 2^62.
 */
#include "learn/quantile.h"

#include <stdbool.h>

#include "base/bits.h"

enum { UNIT_LOG = 16, SHARE_LOG = 14, MOST_TOLD = INT32_MAX };

/* ---- the first five ---- */

static void insert(struct hak_quantile *quantile, uint64_t height) {
  uint32_t i = quantile->told;
  for (; i > 0 && quantile->height[i - 1] > height; i--) quantile->height[i] = quantile->height[i - 1];
  quantile->height[i] = height;
  quantile->place[quantile->told] = quantile->told + 1;
  quantile->told++;
}

/* ---- the markers ---- */

/* The wanted place of marker i, 1 << 16 is a place: at 0, p/2, p, (1 + p)/2 and 1 of the way. */
static int64_t wanted(const struct hak_quantile *quantile, uint32_t p, unsigned i) {
  const uint64_t one = 1u << UNIT_LOG, way[HAK_MARKERS] = {0, p / 2, p, (one + p) / 2, one};
  return (int64_t)(one + (quantile->told - 1) * way[i]);
}

/* The marker at or below the value, 0 .. 3; the outer markers widen to the value. */
static unsigned cell_of(struct hak_quantile *quantile, uint64_t height) {
  quantile->height[0] = hak_min(quantile->height[0], height);
  quantile->height[4] = hak_max(quantile->height[4], height);
  unsigned cell = 3;
  while (cell > 0 && height < quantile->height[cell]) cell--;
  return cell;
}

struct side {
  int64_t rise, run;
};

static struct side side_of_marker(const struct hak_quantile *quantile, unsigned low) {
  return (struct side){.rise = (int64_t)(quantile->height[low + 1] - quantile->height[low]),
                       .run = (int64_t)quantile->place[low + 1] - quantile->place[low]};
}

static int64_t rounded(int64_t n, int64_t by) { return (n + by / 2) / by; }

/* The parabola through three markers, a place onwards from the middle marker: the slopes of both sides, each weighted
 * by the opposite side's share of the span. */
static int64_t parabola(struct side below, struct side above, bool up) {
  int64_t step = up ? 1 : -1, span = below.run + above.run;
  int64_t share = ((below.run + step) << SHARE_LOG) / span;
  int64_t steep = rounded(above.rise, above.run) * share;
  int64_t flat = rounded(below.rise, below.run) * ((1 << SHARE_LOG) - share);
  return step * (steep + flat) >> SHARE_LOG;
}

static int64_t line(struct side below, struct side above, bool up) {
  return up ? rounded(above.rise, above.run) : -rounded(below.rise, below.run);
}

static void shift(struct hak_quantile *quantile, unsigned i, bool up) {
  struct side below = side_of_marker(quantile, i - 1), above = side_of_marker(quantile, i);
  int64_t by = parabola(below, above, up);
  if (by >= above.rise || by <= -below.rise) by = line(below, above, up);
  quantile->height[i] += (uint64_t)by;
  quantile->place[i] += up ? 1u : UINT32_MAX;
}

static void adjust(struct hak_quantile *quantile, uint32_t p, unsigned i) {
  enum { PLACE = 1 << UNIT_LOG };
  int64_t off = wanted(quantile, p, i) - ((int64_t)quantile->place[i] << UNIT_LOG);
  if (off >= PLACE && quantile->place[i + 1] - quantile->place[i] > 1) shift(quantile, i, true);
  if (off <= -PLACE && quantile->place[i] - quantile->place[i - 1] > 1) shift(quantile, i, false);
}

void hak_quantile_note(struct hak_quantile *quantile, uint32_t p, uint32_t value) {
  uint64_t height = (uint64_t)value << UNIT_LOG;
  if (quantile->told < HAK_MARKERS) {
    insert(quantile, height);
    return;
  }
  if (quantile->told == MOST_TOLD) return;
  quantile->told++;
  for (unsigned i = cell_of(quantile, height) + 1; i < HAK_MARKERS; i++) quantile->place[i]++;
  for (unsigned i = 1; i < HAK_MARKERS - 1; i++) adjust(quantile, p, i);
}

uint32_t hak_quantile_estimate(const struct hak_quantile *quantile, uint32_t p) {
  enum { HALF = 1 << (UNIT_LOG - 1) };
  if (quantile->told == 0) return 0;
  uint32_t rank = (uint32_t)(((uint64_t)quantile->told * p + (1u << UNIT_LOG) - 1) >> UNIT_LOG);
  unsigned i = quantile->told > HAK_MARKERS ? 2 : (unsigned)hak_max(rank, 1) - 1;
  return (uint32_t)hak_min((quantile->height[i] + HALF) >> UNIT_LOG, UINT32_MAX);
}
