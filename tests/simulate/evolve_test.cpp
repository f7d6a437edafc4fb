/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* evolve_test.cpp: the learner in programs that change: regret in each phase, and time to recover.
 *
 * what      tools/evolve.c and src/learn/keeper.c, the library's code.
 * failure   Regret above 1.03, or more than 2,000 slow paths (a block allocated or freed) after a sudden shift until
 *           the cost is within a tenth of the new optimum, fails the test.
 * not here  Real programs: lab/docs/learning.md.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "shifts.h"

extern "C" {
#include "evolve.h"
}

namespace {

constexpr hak_tariff kBalanced = {640000, 2000, 1000};

class Evolved {
 public:
  explicit Evolved(Made &made, const hak_tariff &tariff = kBalanced) : gaps(made), tariff_(tariff) {
    done = gaps.collected && hak_evolve(gaps.get(), &tariff_, &evolved);
  }
  ~Evolved() { hak_evolved_drop(&evolved); }
  Evolved(const Evolved &) = delete;
  Evolved &operator=(const Evolved &) = delete;

  hak_regret regret(hak_by by, const std::vector<uint64_t> &start = {0}) const {
    hak_regret out;
    EXPECT_TRUE(hak_regret_of(gaps.get(), &tariff_, &evolved, by, start.data(), start.size(), &out));
    return out;
  }
  double ratio(const hak_outcome &outcome) const {
    const hak_outcome ideal = hak_clairvoyant(gaps.get(), &tariff_, 1);
    return hak_cost(&tariff_, &outcome) / hak_cost(&tariff_, &ideal);
  }
  double ratio(hak_by by) const { return ratio(hak_evolved_outcome(gaps.get(), &tariff_, evolved.arm[by])); }
  double fixed(double keep) const { return ratio(hak_keep_for(gaps.get(), &tariff_, {false, keep})); }
  double cost(uint32_t gap, unsigned arm) const { return hak_gap_cost(&gaps->gap[gap], &tariff_, arm); }
  unsigned arm(uint32_t gap, hak_by by = HAK_BY_SITE) const { return evolved.arm[by][gap]; }
  const hak_gap &freed(size_t place) const { return gaps->gap[evolved.order[place]]; }

  Gaps gaps;
  hak_evolved evolved;
  bool done;

 private:
  const hak_tariff tariff_;
};

/* The gaps of a phase, in the order of their frees, and the best arm of each group in the phase. */
struct Phase {
  Phase(const Evolved &all, uint64_t from, uint64_t until) : of(all) {
    for (size_t i = 0; i < all.gaps->gaps; i++) {
      const uint32_t gap = all.evolved.order[i];
      if (all.gaps->gap[gap].freed_ns >= from && all.gaps->gap[gap].freed_ns < until) gaps.push_back(gap);
    }
    std::vector<std::array<double, 8>> sums(all.gaps->groups);
    for (const uint32_t gap : gaps)
      for (unsigned arm = 0; arm < 8; arm++) sums[group(gap)][arm] += all.cost(gap, arm);
    for (const auto &sum : sums)
      best.push_back(static_cast<unsigned>(std::min_element(sum.begin(), sum.end()) - sum.begin()));
  }
  uint32_t group(uint32_t gap) const { return of.gaps->gap[gap].group; }

  /* Blocks allocated and freed until the next thousand gaps cost at most a tenth more than with the best arms. */
  size_t events_until_back() const {
    constexpr size_t kNext = 1000, kStep = 25;
    for (size_t from = 0; from + kNext <= gaps.size(); from += kStep) {
      double mine = 0, theirs = 0;
      for (size_t i = from; i < from + kNext; i++) {
        mine += of.cost(gaps[i], of.arm(gaps[i]));
        theirs += of.cost(gaps[i], best[group(gaps[i])]);
      }
      if (mine <= 1.1 * theirs) return 2 * from;
    }
    return SIZE_MAX;
  }

  const Evolved &of;
  std::vector<uint32_t> gaps;
  std::vector<unsigned> best;
};

double best_fixed(const Evolved &all) {
  double best = 1e30;
  for (const double keep : {0.0, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0}) best = std::min(best, all.fixed(keep));
  return best;
}

size_t slowest(const Evolved &all, const Shifts &shifts) {
  size_t most = 0;
  for (size_t phase = 1; phase < shifts.start.size(); phase++) {
    const uint64_t until = phase + 1 < shifts.start.size() ? shifts.start[phase + 1] : UINT64_MAX;
    most = std::max(most, Phase(all, shifts.start[phase], until).events_until_back());
  }
  return most;
}

/* lab/docs/learning.md shows the output. */
void judge(Shifts shifts) {
  const Evolved all(shifts.made);
  ASSERT_TRUE(all.done);
  const hak_regret site = all.regret(HAK_BY_SITE, shifts.start);
  const double best = all.ratio(HAK_BY_SITE) / (site.many.paid / site.many.best);
  const size_t back = slowest(all, shifts);
  std::printf("| %s | %zu | %.2f | %.2f | %.2f | %.2f | %.2f | %llu | %.3f | %.3f | %.3f | %.2f | %zu |\n",
              shifts.name.c_str(), all.gaps->gaps, all.fixed(1), best_fixed(all), all.ratio(HAK_BY_SITE),
              all.ratio(HAK_BY_SIZE), all.ratio(HAK_BY_PROCESS), static_cast<unsigned long long>(site.many.gaps),
              site.many.paid / site.many.best, all.regret(HAK_BY_SIZE, shifts.start).many.paid / site.many.best,
              all.regret(HAK_BY_PROCESS, shifts.start).many.paid / site.many.best, best, back);
  EXPECT_LE(site.many.paid, 1.03 * site.many.best);
  EXPECT_GE(site.many.rows, shifts.start.size() * 4) << "every site has much to learn from in every phase";
  EXPECT_LE(back, 2000u);
}

TEST(Shifting, OfSizes) { judge(shift_of_sizes()); }
TEST(Shifting, OfLifetimes) { judge(shift_of_lifetimes()); }
TEST(Shifting, Drift) { judge(drift()); }
TEST(Shifting, DaysAndNights) { judge(days_and_nights()); }

/* ---- known facts and their time ---- */

TEST(Evolving, NobodyKnowsAGapBeforeItEnds) {
  Made one, other;
  for (Made *made : {&one, &other}) made->wait(std::vector<uint64_t>(50, 4'000'000'000), 1);
  one.wait(std::vector<uint64_t>(1, 1), 1);
  other.wait(std::vector<uint64_t>(1, 9'000'000'000), 1);
  const Evolved a(one), b(other);
  ASSERT_EQ(a.gaps->gaps, b.gaps->gaps);
  for (size_t i = 0; i < a.gaps->gaps; i++) EXPECT_EQ(a.arm(a.evolved.order[i]), b.arm(b.evolved.order[i])) << i;
}

TEST(Evolving, AGapThatNeverEndsIsKnownWhenItHasOutlastedTheLongestArm) {
  Made made;
  for (uint64_t i = 0; i < 100; i++) made.put(i * 10'000'000'000, made.get(i * 10'000'000'000, kPiece << i % 8 * 2, 1));
  made.end(2'000'000'000'000);
  std::vector<uint32_t> live;
  Made never;
  for (uint64_t i = 0; i < 100; i++) live.push_back(never.get(0));
  for (uint64_t i = 0; i < 100; i++) never.put(1 + i * 10'000'000'000, live[i]);
  never.put(1'500'000'000'000, never.get(1'400'000'000'000));
  never.end(2'000'000'000'000);
  const Evolved all(never);
  ASSERT_EQ(all.gaps->gaps, 101u);
  EXPECT_EQ(all.arm(all.evolved.order[0]), 5u) << "break-even";
  EXPECT_EQ(all.arm(all.evolved.order[99]), 5u) << "it was taken when nothing was known";
  EXPECT_EQ(all.arm(all.evolved.order[100]), 0u) << "none was asked for again within the longest arm";
}

/* ---- regret, by hand ---- */

TEST(Regret, TheFirstTwoHundredAreLeftOutAndTheOthersArePooled) {
  Made made;
  made.wait(std::vector<uint64_t>(1199, 4'000'000'000), 1);
  made.put(made.events().back().ns, made.events().back().block);
  made.wait(std::vector<uint64_t>(10, 4'000'000'000), 2);
  const Evolved all(made);
  const hak_regret found = all.regret(HAK_BY_SITE);
  EXPECT_EQ(found.many.rows, 1u);
  EXPECT_EQ(found.many.gaps, 1000u);
  EXPECT_DOUBLE_EQ(found.many.best, 999.0 * 18000) << "and one of no time, between the sites";
  EXPECT_DOUBLE_EQ(found.many.paid, 999.0 * 18000);
  EXPECT_DOUBLE_EQ(found.many.clairvoyant, 999.0 * 18000);
  EXPECT_EQ(found.few.rows, 1u);
  EXPECT_EQ(found.few.gaps, 10u);
}

TEST(Regret, EachPhaseHasItsBestArms) {
  Made made;
  made.wait(std::vector<uint64_t>(1200, 4'000'000'000), 1);
  const uint64_t shift = made.events().back().ns;
  made.put(shift, made.events().back().block);
  made.wait(std::vector<uint64_t>(1200, 1'000'000), 1);
  const Evolved all(made);
  const double one = all.regret(HAK_BY_SITE).many.best, two = all.regret(HAK_BY_SITE, {0, shift}).many.best;
  EXPECT_EQ(all.regret(HAK_BY_SITE, {0, shift}).many.rows, 2u);
  EXPECT_LT(two, one);
}

TEST(Regret, ADayTheSameWithoutAPrice) {
  Made made;
  made.wait({5, 100, 1'000'000'000'000'000}, 1, uint64_t{1} << 44);
  const Evolved all(made, {0, 2000, 1000});
  EXPECT_TRUE(all.done);
  EXPECT_EQ(hak_evolved_outcome(all.gaps.get(), &kBalanced, all.evolved.arm[HAK_BY_SITE]).drops, 0u + 1);
}

}  // namespace
