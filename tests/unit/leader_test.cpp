/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* leader_test.cpp: the learner of keep times under known waits.
 *
 * what      learn/leader.c: made waits, so that the cost of each arm can be computed.
 * failure   An arm that pays too much, a row that forgets too soon or never, or a choice that differs from the recorded
 *           choice fails the test.
 * not here  Waits of real programs and shifting waits: tests/simulate/evolve_test.cpp.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <random>

extern "C" {
#include "learn/leader.h"
}

namespace {

constexpr uint64_t kBreakEven = 400; /* ms, of 2 MiB at `balanced` */
constexpr uint32_t kSite = 7, kBin = 23;
constexpr unsigned kNever = 0, kLongest = HAK_ARMS - 1;

double paid(uint64_t waited, unsigned arm, uint64_t break_even = kBreakEven) {
  const double rent = static_cast<double>(waited) / static_cast<double>(break_even);
  const double most = arm == 0 ? 0 : std::ldexp(1.0, static_cast<int>(arm) - HAK_ARM_BREAK_EVEN);
  return rent <= most ? rent : most + 1;
}

class Learner {
 public:
  unsigned choose(uint32_t site = kSite, uint32_t bin = kBin) { return hak_leaders_choose(all_.get(), site, bin).arm; }
  /* One wait at a time, unless several end together. */
  void note(uint64_t waited, uint32_t site = kSite, uint32_t bin = kBin, uint64_t break_even = kBreakEven) {
    if (!together) now_ += 2 * break_even;
    hak_leaders_note(all_.get(), site, bin, {waited, break_even, now_});
  }
  /* Chooses and reports, `times` times. */
  void live(int times, const std::function<uint64_t()> &next, uint32_t site = kSite, uint32_t bin = kBin) {
    for (; times > 0; times--) {
      choose(site, bin);
      note(next(), site, bin);
    }
  }
  hak_leaders *get() { return all_.get(); }

  bool together = false;

 private:
  uint64_t now_ = 0;
  std::unique_ptr<hak_leaders> all_ = std::make_unique<hak_leaders>();
};

/* The learner's cost after 200 waits, relative to the best arm's. */
double regret(const std::function<uint64_t()> &next, int times = 5000) {
  Learner learner;
  double mine = 0;
  std::array<double, HAK_ARMS> of{};
  for (int i = 0; i < times; i++) {
    const unsigned arm = learner.choose();
    const uint64_t waited = next();
    learner.note(waited);
    if (i < 200) continue;
    mine += paid(waited, arm);
    for (unsigned a = 0; a < HAK_ARMS; a++) of[a] += paid(waited, a);
  }
  return mine / *std::min_element(of.begin(), of.end());
}

std::function<uint64_t()> always(uint64_t ms) {
  return [ms] { return ms; };
}

std::function<uint64_t()> exponential(double mean_ms, uint32_t seed = 1) {
  auto random = std::make_shared<std::mt19937>(seed);
  auto wait = std::make_shared<std::exponential_distribution<double>>(1 / mean_ms);
  return [=] { return static_cast<uint64_t>(std::llround((*wait)(*random))); };
}

/* `percent` of 100 waits last `often`, the rest `seldom`. */
std::function<uint64_t()> mixture(uint64_t often, uint64_t seldom, unsigned percent) {
  auto random = std::make_shared<std::mt19937>(2);
  return [=] { return (*random)() % 100 < percent ? often : seldom; };
}

/* ---- the ladder ---- */

TEST(Ladder, IsBreakEvenTimesAPowerOfTwoAndNothing) {
  const uint64_t known[] = {0, 1000, 2000, 4000, 8000, 16000, 32000, 64000};
  for (unsigned arm = 0; arm < HAK_ARMS; arm++) EXPECT_EQ(hak_arm_time(arm, 16000), known[arm]);
  EXPECT_EQ(hak_leader_longest(16000), 64000u);
}

TEST(Ladder, DoesNotOverflow) {
  EXPECT_EQ(hak_arm_time(kLongest, UINT64_MAX / 2), UINT64_MAX);
  EXPECT_EQ(hak_arm_time(HAK_ARM_BREAK_EVEN, UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(hak_arm_time(0, UINT64_MAX), 0u);
}

TEST(Ladder, BinsAreFourToADoublingAndEndAtTheirLargestSize) {
  EXPECT_EQ(hak_leader_bin(81920), hak_leader_bin(65537));
  EXPECT_EQ(hak_leader_bin(65537), hak_leader_bin(65536) + 1);
  EXPECT_EQ(hak_leader_bin(131072), hak_leader_bin(65536) + 4);
  uint32_t before = 0;
  for (uint64_t bytes = 1; bytes < UINT64_MAX / 2; bytes += bytes / 50 + 1) {
    ASSERT_GE(hak_leader_bin(bytes), before) << bytes;
    before = hak_leader_bin(bytes);
  }
  EXPECT_EQ(hak_leader_bin(0), 0u);
  EXPECT_EQ(hak_leader_bin(UINT64_MAX), HAK_LEADER_BINS - 1u);
}

/* ---- known truth ---- */

TEST(Leader, WhoKnowsNothingBreaksEven) {
  Learner learner;
  EXPECT_EQ(learner.choose(), HAK_ARM_BREAK_EVEN);
  EXPECT_EQ(learner.choose(HAK_ANY), HAK_ARM_BREAK_EVEN);
  EXPECT_EQ(learner.choose(HAK_ANY, HAK_ANY), HAK_ARM_BREAK_EVEN);
}

TEST(Leader, AWaitThatIsAlwaysTheSame) {
  for (const uint64_t ms : {1, 24, 26, 99, 101, 399, 401, 799, 801, 1601, 100000}) {
    Learner learner;
    learner.live(500, always(ms));
    const unsigned arm = learner.choose();
    double best = paid(ms, 0);
    for (unsigned a = 1; a < HAK_ARMS; a++) best = std::min(best, paid(ms, a));
    EXPECT_LE(paid(ms, arm), best * 1.016) << ms << " ms, arm " << arm;
  }
}

TEST(Leader, APeriodOfSixTenthsOfASecondIsNotWorthKeeping) {
  Learner learner;
  learner.live(100, always(600));
  EXPECT_EQ(learner.choose(), kNever) << "1.5 fetches of rent beside one";
}

TEST(Leader, AMixtureOfShortAndLong) {
  EXPECT_LE(regret(mixture(10, 4000, 90)), 1.03);
  EXPECT_LE(regret(mixture(10, 4000, 50)), 1.03);
  EXPECT_LE(regret(mixture(60, 4000, 30)), 1.03);
  Learner learner;
  learner.live(2000, mixture(30, 4000, 80));
  EXPECT_EQ(learner.choose(), 2u) << "an eighth, 50 ms: as long as the short ones and no longer";
}

TEST(Leader, ExponentialWaitsOfBreakEvenCostWhatAnyArmDoes) {
  for (uint32_t seed = 1; seed <= 5; seed++) EXPECT_LE(regret(exponential(kBreakEven, seed)), 1.03) << seed;
  EXPECT_LE(regret(exponential(kBreakEven / 10.0)), 1.03);
  EXPECT_LE(regret(exponential(kBreakEven * 5.0)), 1.03);
}

TEST(Leader, AShiftIsFollowed) {
  for (const auto &[before, after] : {std::pair<uint64_t, uint64_t>{10, 4000}, {4000, 10}, {300, 20}, {20, 600}}) {
    Learner learner;
    learner.live(5000, always(before));
    double mine = 0;
    for (int i = 0; i < 400; i++) {
      const unsigned arm = learner.choose();
      learner.note(after);
      if (i >= 50) mine += paid(after, arm);
    }
    double best = paid(after, 0);
    for (unsigned a = 1; a < HAK_ARMS; a++) best = std::min(best, paid(after, a));
    EXPECT_LE(mine, 350 * best * 1.1) << before << " ms, then " << after;
  }
}

TEST(Leader, ABurstIsOneEventAndNotAnotherLoad) {
  for (const bool together : {true, false}) {
    Learner learner;
    learner.live(5000, always(30));
    learner.together = together;
    for (int i = 0; i < 150; i++) learner.note(100000);
    EXPECT_EQ(learner.choose() == kNever, !together);
  }
}

TEST(Leader, OldWaitsCountForLessAndLess) {
  Learner learner;
  learner.together = true;
  learner.live(100000, always(4000));
  const hak_leader &row = learner.get()->process;
  const uint32_t full = row.paid[kNever];
  EXPECT_NEAR(full, 256 << 16, 1 << 16);
  EXPECT_NEAR(row.weight, 256 * 128, 256);
  learner.live(177, always(0));
  EXPECT_NEAR(row.paid[kNever], full / 2, full / 100.0) << "256 ln 2";
}

/* ---- inheritance ---- */

TEST(Leader, ANewSiteDoesAsItsSize) {
  Learner learner;
  for (uint32_t site = 100; site < 140; site++) learner.live(20, always(600), site);
  EXPECT_EQ(learner.choose(1), kNever);
  EXPECT_NE(learner.choose(1, kBin + 5), HAK_ARM_BREAK_EVEN) << "another size, as the process";
}

TEST(Leader, ASiteThatDiffersFromItsSizeIsSoonHeard) {
  Learner learner;
  for (int i = 0; i < 2000; i++) learner.live(1, always(4000), 100 + static_cast<uint32_t>(i % 10));
  EXPECT_EQ(learner.choose(1), kNever);
  int told = 0;
  for (; learner.choose(1) == kNever && told < 1000; told++) learner.note(30, 1);
  EXPECT_LE(told, 40);
  EXPECT_EQ(learner.choose(100), kNever) << "the others stay";
}

TEST(Leader, TwoSitesOfASizeHaveArmsOfTheirOwn) {
  Learner learner;
  for (int i = 0; i < 500; i++) {
    learner.live(1, always(20), 1);
    learner.live(1, always(4000), 2);
  }
  EXPECT_EQ(learner.choose(1), 1u) << "a sixteenth is 25 ms";
  EXPECT_EQ(learner.choose(2), kNever);
}

/* ---- extreme values: days, TiB, price 0, the highest price ---- */

TEST(Leader, WaitsAndBreakEvensOfAnyLengthStayInBounds) {
  const uint64_t day = 86400000;
  for (const uint64_t break_even : {uint64_t{0}, uint64_t{1}, day, day * 1000000, UINT64_MAX / 2, UINT64_MAX}) {
    for (const uint64_t waited : {uint64_t{0}, uint64_t{1}, day, 10 * day, UINT64_MAX - 1, UINT64_MAX}) {
      Learner learner;
      for (int i = 0; i < 3000; i++) {
        ASSERT_LT(learner.choose(), HAK_ARMS + 0u);
        learner.note(waited, kSite, kBin, break_even);
      }
      for (const uint32_t loss : learner.get()->process.paid)
        ASSERT_LE(loss, 256u * 5 * 65536 + 1024) << waited << " beside " << break_even;
    }
  }
}

TEST(Leader, LongAndShortUnitsAreTheSame) {
  std::mt19937_64 random(5);
  Learner ms, ns;
  for (int i = 0; i < 3000; i++) {
    const uint64_t waited = random() % 4 == 0 ? random() % 5000 : random() % 100;
    ASSERT_EQ(ms.choose(), ns.choose());
    ms.note(waited);
    ns.note(waited << 44, kSite, kBin, kBreakEven << 44);
  }
}

TEST(Leader, WhereMemoryCostsNothingItIsKept) {
  Learner learner;
  for (int i = 0; i < 1000; i++) learner.note(1 + static_cast<uint64_t>(i) * 1000000, kSite, kBin, UINT64_MAX);
  EXPECT_EQ(learner.choose(), HAK_ARM_BREAK_EVEN);
  EXPECT_EQ(hak_arm_time(HAK_ARM_BREAK_EVEN, UINT64_MAX), UINT64_MAX);
}

TEST(Leader, NobodyKnowsMoreCountsAsNever) {
  Learner learner;
  for (int i = 0; i < 100; i++) learner.note(UINT64_MAX);
  EXPECT_EQ(learner.choose(), kNever);
}

/* ---- the table ---- */

TEST(Leader, AFullTableForgetsTheOneThatWasToldLeastLately) {
  Learner learner;
  learner.live(300, always(4000), kSite);
  for (uint32_t site = 1000; site < 60000; site++) {
    learner.note(10, site);
    if (site % 100 == 0) learner.live(1, always(4000), kSite);
  }
  EXPECT_EQ(learner.choose(kSite), kNever) << "it was told all the time";
  learner.together = true;
  for (uint32_t site = 100000; site < 200000; site++) learner.note(10, site);
  EXPECT_NE(learner.choose(kSite), kNever) << "it was not, and does as its size";
}

TEST(Leader, FitsItsBudget) {
  EXPECT_LE(sizeof(hak_leaders), 512u << 10);
  EXPECT_GE(HAK_LEADER_SETS * HAK_LEADER_WAYS, 6144);
}

/* ---- the same everywhere ---- */

TEST(Leader, TheSameWaitsGiveTheSameDecisionsOnEveryMachine) {
  Learner learner;
  uint64_t state = 1, hash = 14695981039346656037u;
  for (int i = 0; i < 100000; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto draw = static_cast<uint32_t>(state >> 33);
    const uint32_t site = draw % 5000, bin = draw / 7 % 12;
    hash = (hash ^ learner.choose(site, bin)) * 1099511628211u;
    learner.note(uint64_t{1} << draw % 14, site, bin, 300 + draw % 200);
  }
  EXPECT_EQ(hash, 1726705601807860830u);
}

}  // namespace
