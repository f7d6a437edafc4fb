/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* poisson.c: the choice of sampled bytes, and the weight of a sample.
 *
 * what      See poisson.h. Logarithm and exponential are short series, exact to 1e-12, because libm is not linked.
 */
#include "base/poisson.h"

#include <string.h>

#include "base/bytes.h"

enum { MANTISSA = 52, BIAS = 1023 };

/* Splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t mix(uint64_t *state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* ln(x) of a normal x > 0: ln(m 2^e) = e ln 2 + 2 artanh((m - 1) / (m + 1)), 1 <= m < 2. */
static double logarithm(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int exponent = (int)(bits >> MANTISSA) - BIAS;
  bits = (bits & (((uint64_t)1 << MANTISSA) - 1)) | (uint64_t)BIAS << MANTISSA;
  memcpy(&x, &bits, sizeof x);
  double z = (x - 1) / (x + 1), power = z, sum = 0;
  for (int n = 1; n < 27; n += 2, power *= z * z) sum += power / n;
  return exponent * 0.6931471805599453 + 2 * sum;
}

uint64_t hak_poisson_gap(uint64_t *state, uint64_t mean) {
  double chance = (double)((mix(state) >> 11) + 1) * 0x1p-53; /* above 0, at most 1 */
  return 1 + (uint64_t)(-logarithm(chance) * (double)mean);
}

/* exp(x) - 1 for -1/2 <= x <= 0. */
static double exponential_less_one(double x) {
  double term = x, sum = x;
  for (int n = 2; n < 16; n++) {
    term *= x / n;
    sum += term;
  }
  return sum;
}

/* Doubles x by e^2x - 1 = (e^x - 1)(e^x - 1 + 2), which keeps small results exact. */
double hak_poisson_share(uint64_t bytes, uint64_t mean) {
  double x = (double)bytes / (double)mean;
  if (x > 40) return 1;
  int doublings = 0;
  for (; x > 0.5; x /= 2) doublings++;
  double less = exponential_less_one(-x);
  while (doublings-- > 0) less *= less + 2;
  return -less;
}
