/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* poisson_test.cpp: gaps between samples, and the weight of a sample.
 *
 * what      base/poisson.c against the mathematics of libm, and against the promised distribution.
 * not here  Counting bytes: profile_test.cpp.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

extern "C" {
#include "base/poisson.h"
}

namespace {

TEST(Poisson, ShareIsOneLessAnExponential) {
  for (uint64_t mean : {uint64_t{1}, uint64_t{4096}, uint64_t{512} << 10, uint64_t{1} << 40}) {
    for (double x = 1e-9; x < 100; x *= 1.37) {
      auto bytes = static_cast<uint64_t>(x * static_cast<double>(mean));
      double exact = -std::expm1(-static_cast<double>(bytes) / static_cast<double>(mean));
      EXPECT_NEAR(hak_poisson_share(bytes, mean), exact, 1e-12 * exact) << bytes << " of " << mean;
    }
  }
}

/* Kolmogorov's distance of n gaps; beyond 1.95 / sqrt(n) once in a thousand. */
TEST(Poisson, GapsAreExponential) {
  constexpr size_t kGaps = 200000;
  constexpr uint64_t kMean = 512 << 10;
  for (uint64_t seed = 1; seed <= 5; seed++) {
    uint64_t state = seed;
    std::vector<double> share(kGaps);
    for (double &s : share) s = -std::expm1(-static_cast<double>(hak_poisson_gap(&state, kMean)) / kMean);
    std::sort(share.begin(), share.end());
    double most = 0;
    for (size_t i = 0; i < kGaps; i++) most = std::max(most, std::abs(share[i] - static_cast<double>(i) / kGaps));
    EXPECT_LT(most, 1.95 / std::sqrt(kGaps)) << "seed " << seed;
  }
}

TEST(Poisson, AGapIsNeverNothing) {
  uint64_t state = 0;
  for (int i = 0; i < 100000; i++) EXPECT_GE(hak_poisson_gap(&state, 1), 1u);
}

}  // namespace
