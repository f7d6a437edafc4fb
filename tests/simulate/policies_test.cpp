/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policies_test.cpp: costs of policies, computed by hand, and properties that hold for every trace.
 *
 * what      tools/policies.c. By hand: a piece of 64 KiB pays 1 ns per ns of rent and 20 ns per fetch, so its
 *           break-even time is 20 ns.
 * failure   A sum that differs, or a policy that beats a provably better policy, fails the test.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "made.h"

extern "C" {
#include "policies.h"
}

namespace {

constexpr hak_tariff kByHand = {16e9, 4, 1};
constexpr double kFetch = 20, kIdle = 1e-9 / 16; /* MiB x s of a piece and ns */
constexpr hak_arm kNever = {false, 0}, kQuarter = {false, 0.25}, kHalf = {false, 0.5}, kBreakEven = {false, 1},
                  kForever = {true, 1e30};

double cost(const hak_outcome &outcome, const hak_tariff &tariff = kByHand) { return hak_cost(&tariff, &outcome); }

double keep(const Gaps &gaps, hak_arm arm) { return cost(hak_keep_for(gaps.get(), &kByHand, arm)); }

class Verdicts {
 public:
  Verdicts(const Gaps &gaps, const std::vector<hak_arm> &arms, const hak_tariff &tariff = kByHand, uint64_t many = 10)
      : tariff_(tariff) {
    const hak_ladder ladder = {arms.data(), arms.size(), kCut.bins, many};
    made = hak_verdicts_make(gaps.get(), &tariff, &ladder, &verdicts);
  }
  ~Verdicts() { hak_verdicts_drop(&verdicts); }
  Verdicts(const Verdicts &) = delete;
  Verdicts &operator=(const Verdicts &) = delete;
  double best(hak_scope scope) const { return cost(hak_best(&verdicts, &tariff_, scope, 1), tariff_); }
  size_t best_arm() const { return hak_best_arm(&verdicts, &tariff_, 1); }

  hak_verdicts verdicts;
  bool made;

 private:
  const hak_tariff tariff_;
};

const std::vector<hak_arm> kLadder = {kNever, kQuarter, kBreakEven, kForever};

/* Gaps of 5 and 30 ns, and a gap of 40 ns that the end cuts off. */
Made three_gaps() {
  Made made;
  made.wait({5, 30});
  made.put(60, 3);
  made.end(100);
  return made;
}

TEST(ByHand, FixedTimes) {
  Made made = three_gaps();
  const Gaps gaps(made);
  ASSERT_EQ(gaps->gaps, 3u);
  EXPECT_DOUBLE_EQ(keep(gaps, kNever), 60);
  EXPECT_DOUBLE_EQ(keep(gaps, {false, 0.125}), 3 * (2.5 + 20));
  EXPECT_DOUBLE_EQ(keep(gaps, kQuarter), 5 + 2 * 25) << "a gap of just that time is kept";
  EXPECT_DOUBLE_EQ(keep(gaps, kHalf), 5 + 2 * 30);
  EXPECT_DOUBLE_EQ(keep(gaps, kBreakEven), 5 + 2 * 40);
  EXPECT_DOUBLE_EQ(keep(gaps, {true, 35}), 5 + 30 + 35 + 20);
  EXPECT_DOUBLE_EQ(keep(gaps, kForever), 75);
}

TEST(ByHand, TheClairvoyant) {
  Made made = three_gaps();
  const Gaps gaps(made);
  EXPECT_DOUBLE_EQ(cost(hak_clairvoyant(gaps.get(), &kByHand, 1)), 5 + 20 + 20);
}

TEST(ByHand, WhatIsCounted) {
  Made made = three_gaps();
  const Gaps gaps(made);
  const hak_outcome outcome = hak_keep_for(gaps.get(), &kByHand, kBreakEven);
  EXPECT_EQ(outcome.hits, 1u);
  EXPECT_EQ(outcome.drops, 2u) << "the last one is dropped, too";
  EXPECT_EQ(outcome.fetches, 1u) << "and is not asked for again";
  EXPECT_EQ(outcome.pages, 16u);
  EXPECT_DOUBLE_EQ(outcome.fetch_ns, 2 * kFetch);
  EXPECT_DOUBLE_EQ(outcome.idle, 45 * kIdle);
  EXPECT_EQ(hak_keep_for(gaps.get(), &kByHand, kForever).hits, 2u);
}

TEST(ByHand, ABiggerBlockHasABreakEvenOfItsOwn) {
  Made made;
  made.wait({17, 18}, 0, 8 * kPiece);
  const Gaps gaps(made);
  /* 128 pages: a fetch of 132 ns, rent of 8 ns per ns: 16.5 ns. */
  EXPECT_DOUBLE_EQ(keep(gaps, kBreakEven), 2 * 2 * 132);
  EXPECT_DOUBLE_EQ(keep(gaps, kForever), 8 * 35);
}

TEST(ByHand, SitesOfOneBinEachHaveTheirTime) {
  Made made;
  made.wait(std::vector<uint64_t>(10, 5), 1);
  made.put(made.events().back().ns, made.events().back().block);
  made.wait(std::vector<uint64_t>(10, 1000), 2);
  const Gaps gaps(made);
  ASSERT_EQ(gaps->gaps, 21u) << "and one of no time, between the sites";
  const Verdicts verdicts(gaps, kLadder);
  EXPECT_DOUBLE_EQ(verdicts.best(HAK_FOR_ALL), 10 * 5 + 10 * 25);
  EXPECT_EQ(verdicts.best_arm(), 1u);
  EXPECT_DOUBLE_EQ(verdicts.best(HAK_FOR_BIN), 10 * 5 + 10 * 25);
  EXPECT_DOUBLE_EQ(verdicts.best(HAK_FOR_SITE), 10 * 5 + 10 * 20);
  EXPECT_DOUBLE_EQ(cost(hak_clairvoyant(gaps.get(), &kByHand, 1)), 250);
  EXPECT_DOUBLE_EQ(keep(gaps, kBreakEven), 10 * 5 + 10 * 40);
}

TEST(ByHand, BinsOfOneSiteEachHaveTheirTime) {
  Made made;
  made.wait(std::vector<uint64_t>(10, 5), 1);
  made.wait(std::vector<uint64_t>(10, 1000), 1, 8 * kPiece);
  const Gaps gaps(made);
  const Verdicts verdicts(gaps, kLadder);
  EXPECT_DOUBLE_EQ(verdicts.best(HAK_FOR_BIN), 10 * 5 + 10 * 132);
  EXPECT_DOUBLE_EQ(verdicts.best(HAK_FOR_SITE), verdicts.best(HAK_FOR_BIN));
  EXPECT_DOUBLE_EQ(verdicts.best(HAK_FOR_ALL), 10 * 20 + 10 * 132) << "none kept";
}

/* Gaps of 64 KiB: ten of sites 1 and 2 each, three of 3 and 4 each; plus one per site, of 0 ns and the last of 1000 ns.
 * Of 512 KiB: two of site 5, the second of 0 ns. */
TEST(ByHand, WhoIsNotBusyHasTheTimeOfTheRest) {
  Made made;
  const auto wait = [&made](size_t times, uint64_t ns, uint32_t site, uint64_t size) {
    made.wait(std::vector<uint64_t>(times, ns), site, size);
    made.put(made.events().back().ns, made.events().back().block);
  };
  wait(10, 5, 1, kPiece);
  wait(10, 1000, 2, kPiece);
  wait(3, 5, 3, kPiece);
  wait(3, 1000, 4, kPiece);
  wait(1, 1000, 5, 8 * kPiece);
  const Gaps gaps(made);
  const auto best = [&gaps](uint64_t many) { return Verdicts(gaps, kLadder, kByHand, many).best(HAK_FOR_BUSY); };
  const double one_and_two = 10 * 5 + 10 * 20;
  EXPECT_DOUBLE_EQ(best(1), one_and_two + 3 * 5 + 4 * 20 + 132) << "each by itself: as the clairvoyant";
  EXPECT_DOUBLE_EQ(best(1), cost(hak_clairvoyant(gaps.get(), &kByHand, 1)));
  EXPECT_DOUBLE_EQ(best(8), one_and_two + 3 * 5 + 4 * 25 + 132) << "3 and 4 together";
  EXPECT_DOUBLE_EQ(best(9), one_and_two + 3 * 20 + 4 * 20 + 132) << "3, 4 and 5 together";
  EXPECT_DOUBLE_EQ(best(11), best(9)) << "just as many";
  EXPECT_DOUBLE_EQ(best(12), 10 * 5 + 10 * 25 + 3 * 5 + 4 * 25 + 132) << "1 to 4 together";
  EXPECT_DOUBLE_EQ(best(1000), Verdicts(gaps, kLadder).best(HAK_FOR_ALL));
}

TEST(ByHand, TheHeadroomOfTheClairvoyant) {
  Made made;
  made.wait({10, 100});
  const Gaps gaps(made);
  const hak_outcome base = hak_keep_for(gaps.get(), &kByHand, kBreakEven); /* 10 + 20 idle, 20 to fetch */
  const hak_policy policy = {HAK_CLAIRVOYANT, gaps.get(), &kByHand, nullptr};
  EXPECT_NEAR(hak_idle_at_equal_fetching(&policy, &base) / kIdle, 10, 1e-9);
  EXPECT_NEAR(hak_fetching_at_equal_idle(&policy, &base), 20 * (1 - 20 / 100.0), 1e-9) << "a fifth of the longer one";
}

TEST(ByHand, TheHeadroomBySite) {
  Made made;
  made.wait(std::vector<uint64_t>(10, 5), 1);
  made.put(made.events().back().ns, made.events().back().block);
  made.wait(std::vector<uint64_t>(10, 1000), 2);
  const Gaps gaps(made);
  const Verdicts verdicts(gaps, kLadder);
  const hak_outcome base = hak_keep_for(gaps.get(), &kByHand, kBreakEven); /* 50 + 200 idle, 200 to fetch */
  const hak_policy policy = {HAK_BEST_BY_SITE, gaps.get(), &kByHand, &verdicts.verdicts};
  EXPECT_NEAR(hak_idle_at_equal_fetching(&policy, &base) / kIdle, 50, 1e-9);
  EXPECT_NEAR(hak_fetching_at_equal_idle(&policy, &base), 200 * (1 - 200 / 10000.0), 1e-9);
}

TEST(ByHand, TheHeadroomByBusySite) {
  Made made;
  made.wait(std::vector<uint64_t>(10, 5), 1);
  made.put(made.events().back().ns, made.events().back().block);
  made.wait(std::vector<uint64_t>(10, 1000), 2);
  const Gaps gaps(made);
  const hak_outcome base = hak_keep_for(gaps.get(), &kByHand, kBreakEven);
  for (const auto &[many, idle] : {std::pair<uint64_t, double>{10, 50}, {1000, 100}}) {
    const Verdicts verdicts(gaps, kLadder, kByHand, many);
    const hak_policy policy = {HAK_BEST_BY_BUSY, gaps.get(), &kByHand, &verdicts.verdicts};
    EXPECT_NEAR(hak_idle_at_equal_fetching(&policy, &base) / kIdle, idle, 1e-9) << many;
  }
}

/* ---- whatever the trace ---- */

void expect_same_counts(const hak_outcome &one, const hak_outcome &other) {
  EXPECT_EQ(one.hits, other.hits);
  EXPECT_EQ(one.drops, other.drops);
  EXPECT_EQ(one.fetches, other.fetches);
  EXPECT_EQ(one.pages, other.pages);
}

Made random_process(std::mt19937 &random) {
  std::uniform_real_distribution<double> log(0, 10);
  std::vector<uint32_t> live;
  Made made;
  uint64_t now = 0;
  for (int step = 0; step < 2000; step++) {
    now += static_cast<uint64_t>(std::pow(10, log(random)) * (random() % 3 == 0));
    if (live.empty() || random() % 2 == 0) {
      live.push_back(made.get(now, kPiece + random() % (1 << 18), random() % 20));
    } else {
      std::swap(live[random() % live.size()], live.back());
      made.put(now, live.back());
      live.pop_back();
    }
  }
  return made;
}

std::vector<hak_arm> long_ladder() {
  std::vector<hak_arm> arms = {kNever, kBreakEven, kForever};
  for (double keep = 0.125; keep <= 8; keep *= 2) arms.push_back({false, keep});
  for (double ns = 1e3; ns <= 1e10; ns *= 10) arms.push_back({true, ns});
  return arms;
}

constexpr double kRounding = 1 + 1e-9;

void check_order(const Gaps &gaps, const hak_tariff &tariff) {
  const Verdicts verdicts(gaps, long_ladder(), tariff);
  ASSERT_TRUE(verdicts.made);
  const double ideal = cost(hak_clairvoyant(gaps.get(), &tariff, 1), tariff);
  const double site = verdicts.best(HAK_FOR_SITE), bin = verdicts.best(HAK_FOR_BIN), all = verdicts.best(HAK_FOR_ALL);
  const double busy = verdicts.best(HAK_FOR_BUSY);
  EXPECT_LE(ideal, site * kRounding);
  EXPECT_LE(site, busy * kRounding);
  EXPECT_LE(busy, all * kRounding);
  EXPECT_LE(site, bin * kRounding);
  EXPECT_LE(bin, all * kRounding);
  for (size_t i = 0; i < verdicts.verdicts.arms; i++) {
    const double fixed = cost(verdicts.verdicts.outcome[HAK_FOR_ALL][i], tariff);
    EXPECT_LE(all, fixed * kRounding) << "arm " << i;
    const hak_outcome alone = hak_keep_for(gaps.get(), &tariff, long_ladder()[i]);
    EXPECT_NEAR(fixed, cost(alone, tariff), 1e-9 * fixed) << "one pass for each, arm " << i;
    expect_same_counts(verdicts.verdicts.outcome[HAK_FOR_ALL][i], alone);
  }
}

void check_room(const Gaps &gaps, const hak_tariff &tariff) {
  const Verdicts verdicts(gaps, long_ladder(), tariff);
  const hak_outcome base = hak_keep_for(gaps.get(), &tariff, kBreakEven);
  const hak_policy ideal = {HAK_CLAIRVOYANT, gaps.get(), &tariff, nullptr};
  const hak_policy site = {HAK_BEST_BY_SITE, gaps.get(), &tariff, &verdicts.verdicts};
  const double idle = hak_idle_at_equal_fetching(&site, &base), ns = hak_fetching_at_equal_idle(&site, &base);
  EXPECT_LE(idle, base.idle * kRounding);
  EXPECT_LE(ns, base.fetch_ns * kRounding + 1e-6);
  EXPECT_LE(hak_idle_at_equal_fetching(&ideal, &base), idle * kRounding);
  EXPECT_LE(hak_fetching_at_equal_idle(&ideal, &base), ns * kRounding + 1e-6);
}

TEST(Whatever, NoPolicyBeatsWhoKnowsMore) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; round++) {
    Made made = random_process(random);
    const Gaps gaps(made);
    for (const double price : {0.0, 1.0, 8500.0, 640000.0, 5140000.0, 1e12}) check_order(gaps, {price, 2000, 1000});
  }
}

TEST(Whatever, TheBaselineIsAtMostTwiceTheClairvoyant) {
  std::mt19937 random(6);
  for (int round = 0; round < 50; round++) {
    Made made = random_process(random);
    const Gaps gaps(made);
    for (const double price : {0.0, 8500.0, 640000.0, 5140000.0, 1e9, 1e12}) {
      const hak_tariff tariff = {price, static_cast<double>(random() % 5000), static_cast<double>(random() % 5000)};
      const double base = cost(hak_keep_for(gaps.get(), &tariff, kBreakEven), tariff);
      ASSERT_LE(base, 2 * cost(hak_clairvoyant(gaps.get(), &tariff, 1), tariff) * kRounding) << "price " << price;
    }
  }
}

TEST(Whatever, TheBaselineIsTwiceTheClairvoyantWhereEachGapIsJustTooLong) {
  Made made;
  made.wait(std::vector<uint64_t>(100, 21));
  const Gaps gaps(made);
  EXPECT_DOUBLE_EQ(keep(gaps, kBreakEven), 2 * cost(hak_clairvoyant(gaps.get(), &kByHand, 1)));
}

TEST(Whatever, HeadroomIsNeverLessThanNone) {
  std::mt19937 random(7);
  for (int round = 0; round < 10; round++) {
    Made made = random_process(random);
    const Gaps gaps(made);
    for (const double price : {8500.0, 640000.0, 5140000.0}) check_room(gaps, {price, 2000, 1000});
  }
}

TEST(Whatever, ADearerPriceNeverKeepsMore) {
  std::mt19937 random(8);
  Made made = random_process(random);
  const Gaps gaps(made);
  const hak_tariff tariff = {640000, 2000, 1000};
  const Verdicts verdicts(gaps, long_ladder(), tariff);
  for (int number = 0; number < HAK_KINDS; number++) {
    const hak_kind kind = static_cast<hak_kind>(number);
    const hak_policy policy = {kind, gaps.get(), &tariff, &verdicts.verdicts};
    hak_outcome before = hak_policy_at(&policy, std::exp2(-20));
    for (int log = -19; log <= 20; log++) {
      const hak_outcome here = hak_policy_at(&policy, std::exp2(log));
      EXPECT_LE(here.idle, before.idle * kRounding) << kind << " at " << log;
      EXPECT_GE(here.fetch_ns * kRounding, before.fetch_ns) << kind << " at " << log;
      before = here;
    }
  }
}

}  // namespace
