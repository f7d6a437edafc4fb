/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lifecycle_test.cpp: freezing, alarms and candidates under constant, shifted and bad loads.
 *
 * what      learn/lifecycle.c: costs are drawn from known distributions. `LifeFigures` prints the effect of its
 *           constants (lab/docs/learners.md).
 * failure   Too many false alarms, a missed shift, or a bad candidate that is promoted or takes more than one decision
 *           of twenty fails the test.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

extern "C" {
#include "learn/lifecycle.h"
}

namespace {

constexpr double kFetch = 1000;

using Draw = std::function<double(std::mt19937_64 *)>;

struct Load {
  const char *name;
  Draw draw;
};

/* A mean of 1,000 each. */
const Load kExponential = {"exponential",
                           [](auto *r) { return std::exponential_distribution<double>(1 / kFetch)(*r); }};
const Load kRare = {"a fetch in ten", [](auto *r) { return (*r)() % 10 == 0 ? 10 * kFetch : 0; }};
const Load kHeavy = {"lognormal",
                     [](auto *r) { return std::lognormal_distribution<double>(std::log(kFetch) - 0.5, 1)(*r); }};
const Load kSame = {"the same", [](auto *) { return kFetch; }};
const std::vector<Load> kLoads = {kExponential, kRare, kHeavy, kSame};

Draw times(const Draw &draw, double by) {
  return [=](auto *r) { return draw(r) * by; };
}

/* Runs of about 100 events at 0.5 or at 1.5 of the cost: neighbouring costs are alike. */
Load bursty(const Load &load) {
  auto left = std::make_shared<int>(0);
  auto level = std::make_shared<double>(1);
  return {"in runs", [=](auto *r) {
            if ((*left)-- == 0) {
              *left = static_cast<int>((*r)() % 200);
              *level = (*r)() % 2 == 0 ? 0.5 : 1.5;
            }
            return load.draw(r) * *level;
          }};
}

struct Tally {
  int frozen = 0, alarms = 0, promoted = 0, rolled_back = 0, tried = 0, decisions = 0;
  bool too_many = false; /* more than the candidate's share, at any time */
};

class Life {
 public:
  explicit Life(uint32_t seed, hak_life_rules rules = hak_life_usual()) : rules_(rules), random_(seed) {
    life_.random = seed;
  }

  hak_life_news live(const Draw &own, const Draw &candidate) {
    const bool is_candidates = hak_life_decide(&life_, rules_);
    if (life_.trying) tally.decisions++;
    tally.tried += is_candidates;
    if (tally.tried * static_cast<int>(rules_.one_in) > tally.decisions) tally.too_many = true;
    const double cost = is_candidates ? candidate(&random_) : own(&random_);
    const auto news = hak_life_note(&life_, rules_, static_cast<uint32_t>(std::min(cost, 4e9)), is_candidates);
    tally.frozen += news == HAK_LIFE_FROZEN;
    tally.alarms += news == HAK_LIFE_ALARM;
    tally.promoted += news == HAK_LIFE_PROMOTED;
    tally.rolled_back += news == HAK_LIFE_ROLLED_BACK;
    return news;
  }

  void live_windows(int windows, const Draw &own) {
    for (int i = 0; i < windows * static_cast<int>(rules_.window); i++) live(own, own);
  }

  /* Windows until the state is watching, or 1,000. */
  int freeze(const Draw &own) {
    int windows = 0;
    for (; life_.phase == HAK_LIFE_LEARN && windows < 1000; windows++) live_windows(1, own);
    return windows;
  }

  /* Windows until the next alarm, or `most`. */
  int detect(const Draw &own, int most) {
    const int before = tally.alarms;
    int windows = 0;
    for (; tally.alarms == before && windows < most; windows++) live_windows(1, own);
    return windows;
  }

  /* Offers the candidate and feeds costs until the judgement. */
  hak_life_news try_out(const Draw &own, const Draw &candidate) {
    EXPECT_TRUE(hak_life_offer(&life_, rules_));
    for (int i = 0; i < 100000 && life_.trying; i++) {
      const auto news = live(own, candidate);
      if (news != HAK_LIFE_SAME) return news;
    }
    return HAK_LIFE_SAME;
  }

  hak_life &life() { return life_; }
  Tally tally;

 private:
  hak_life life_{};
  hak_life_rules rules_;
  std::mt19937_64 random_;
};

/* ---- freezing and alarms ---- */

TEST(Life, ItLearnsAndFreezesAfterThreeWindows) {
  for (const Load &load : kLoads) {
    Life life(1);
    EXPECT_EQ(life.life().phase, HAK_LIFE_LEARN);
    life.live_windows(2, load.draw);
    EXPECT_EQ(life.life().phase, HAK_LIFE_LEARN) << load.name;
    life.live_windows(1, load.draw);
    EXPECT_EQ(life.life().phase, HAK_LIFE_WATCH) << load.name;
    EXPECT_EQ(life.tally.frozen, 1);
  }
}

TEST(Life, AConstantLoadHasAtMostOneFalseAlarmInAHundredWindows) {
  for (const Load &load : kLoads)
    for (uint32_t seed = 1; seed <= 20; seed++) {
      Life life(seed);
      life.live_windows(1000, load.draw);
      EXPECT_LE(life.tally.alarms, 10) << load.name << ' ' << seed;
      EXPECT_GE(life.tally.frozen, 1);
    }
}

TEST(Life, AShiftIsLearntAnewAndFrozenAgain) {
  for (const Load &load : kLoads)
    for (const double by : {0.5, 0.7, 1.5, 3.0})
      for (uint32_t seed = 1; seed <= 5; seed++) {
        Life life(seed);
        life.live_windows(30, load.draw);
        EXPECT_LE(life.detect(times(load.draw, by), 100), 25) << load.name << " times " << by << ", seed " << seed;
        EXPECT_EQ(life.life().phase, HAK_LIFE_LEARN);
        EXPECT_LE(life.freeze(times(load.draw, by)), 20) << load.name << " times " << by << ", seed " << seed;
      }
}

TEST(Life, WhatIsStillFallingIsNotFrozen) {
  Life life(1);
  for (int window = 0; window < 8; window++) life.live_windows(1, times(kSame.draw, std::pow(0.5, window)));
  EXPECT_EQ(life.life().phase, HAK_LIFE_LEARN);
  EXPECT_EQ(life.tally.alarms, 0) << "nothing was frozen";
}

TEST(Life, NothingAtAllIsConstant) {
  Life life(1);
  life.live_windows(100, times(kSame.draw, 0));
  EXPECT_EQ(life.tally.alarms, 0);
  EXPECT_EQ(life.life().phase, HAK_LIFE_WATCH);
  EXPECT_LE(life.detect(kSame.draw, 100), 2);
}

TEST(Life, CostsOfAnySizeStayInBounds) {
  Life life(1);
  life.live_windows(100, times(kSame.draw, 1e7));
  EXPECT_EQ(life.tally.alarms, 0);
  life.live_windows(10, [](auto *r) { return (*r)() % 2 == 0 ? 4e9 : 0; });
  EXPECT_EQ(life.life().window.sum, 0u);
}

/* ---- candidates ---- */

const Draw kTail = [](std::mt19937_64 *r) { return kExponential.draw(r) * ((*r)() % 25 == 0 ? 15 : 0.6); };

hak_life_news verdict(const Draw &own, const Draw &candidate, uint32_t seed, hak_life_rules rules = hak_life_usual()) {
  Life life(seed, rules);
  life.freeze(own);
  const auto news = life.try_out(own, candidate);
  EXPECT_FALSE(life.tally.too_many);
  return news;
}

int share(const Draw &own, const Draw &candidate, hak_life_news wanted, int seeds, hak_life_rules rules) {
  int count = 0;
  for (int seed = 1; seed <= seeds; seed++)
    count += verdict(own, candidate, static_cast<uint32_t>(seed), rules) == wanted;
  return count;
}

TEST(Life, ABadCandidateIsRolledBackAndHadOneDecisionInTwenty) {
  EXPECT_EQ(hak_life_usual().one_in, 20u);
  for (const Load &load : kLoads)
    EXPECT_EQ(share(load.draw, times(load.draw, 1.3), HAK_LIFE_PROMOTED, 20, hak_life_usual()), 0) << load.name;
  EXPECT_EQ(share(kExponential.draw, kTail, HAK_LIFE_PROMOTED, 20, hak_life_usual()), 0) << "a long tail";
}

TEST(Life, ACandidateThatIsNoBetterIsRolledBack) {
  for (const Load &load : kLoads)
    EXPECT_LE(share(load.draw, load.draw, HAK_LIFE_PROMOTED, 40, hak_life_usual()), 3) << load.name;
}

TEST(Life, AGoodOneIsPromoted) {
  for (const Load &load : kLoads)
    EXPECT_GE(share(load.draw, times(load.draw, 0.7), HAK_LIFE_PROMOTED, 20, hak_life_usual()), 14) << load.name;
}

TEST(Life, AWorseTailIsRolledBackEvenWhereTheMeanIsBetter) {
  const Draw tail = [](auto *r) { return (*r)() % 50 == 0 ? 20 * kFetch : 0.2 * kFetch; };
  EXPECT_EQ(share(kSame.draw, tail, HAK_LIFE_PROMOTED, 20, hak_life_usual()), 0);
}

TEST(Life, ACandidateIsRefusedWhileLearningOrWhileAnotherIsTried) {
  Life life(1);
  EXPECT_FALSE(hak_life_offer(&life.life(), hak_life_usual()));
  life.freeze(kSame.draw);
  EXPECT_TRUE(hak_life_offer(&life.life(), hak_life_usual()));
  EXPECT_FALSE(hak_life_offer(&life.life(), hak_life_usual()));
}

TEST(Life, AnAlarmEndsTheTrial) {
  Life life(1);
  life.freeze(kSame.draw);
  life.live_windows(10, kSame.draw);
  ASSERT_TRUE(hak_life_offer(&life.life(), hak_life_usual()));
  EXPECT_LE(life.detect(times(kSame.draw, 3), 5), 2);
  EXPECT_FALSE(life.life().trying);
  EXPECT_FALSE(hak_life_decide(&life.life(), hak_life_usual()));
}

TEST(Life, TheSameCostsGiveTheSameNews) {
  Life one(9), two(9);
  one.live_windows(300, kHeavy.draw);
  two.live_windows(300, kHeavy.draw);
  EXPECT_EQ(one.tally.alarms, two.tally.alarms);
  EXPECT_EQ(one.life().drift.sum, two.life().drift.sum);
}

/* ---- effect of the constants ---- */

constexpr int kSeeds = 100;

double false_alarms(const Load &load, hak_life_rules rules) {
  int alarms = 0;
  for (uint32_t seed = 1; seed <= 20; seed++) {
    Life life(seed, rules);
    life.live_windows(500, load.draw);
    alarms += life.tally.alarms;
  }
  return alarms / (20 * 5.0);
}

double delay(const Load &load, double by, hak_life_rules rules) {
  double sum = 0;
  for (uint32_t seed = 1; seed <= 20; seed++) {
    Life life(seed, rules);
    life.freeze(load.draw);
    life.live_windows(20, load.draw);
    sum += life.detect(times(load.draw, by), 200) / 20.0;
  }
  return sum;
}

struct Row {
  const char *what;
  hak_life_rules rules;
};

hak_life_rules with(uint32_t hak_life_rules::*field, uint32_t value) {
  hak_life_rules rules = hak_life_usual();
  rules.*field = value;
  return rules;
}

/* False alarms in 25,600 costs of each load; costs until an alarm after a shift of the exponential load. */
TEST(LifeFigures, DISABLED_Alarms) {
  std::printf("%-12s %11s %10s %9s %7s %11s %11s\n", "", "exponential", "one in ten", "lognormal",
              "in runs", "x 1.5 after", "x 1.2 after");
  using R = hak_life_rules;
  for (const auto &[what, rules] :
       {Row{"usual", hak_life_usual()}, {"window 128", with(&R::window, 128)}, {"window 512", with(&R::window, 512)},
        {"quiet 1", with(&R::quiet, 1)}, {"quiet 6", with(&R::quiet, 6)}, {"allowed 1/4", with(&R::allowed, 4)},
        {"allowed 1", with(&R::allowed, 16)}, {"alarm 4", with(&R::alarm, 4)}, {"alarm 16", with(&R::alarm, 16)},
        {"matters 1/64", with(&R::matters, 64)}, {"matters 1/16", with(&R::matters, 16)}}) {
    const double costs = rules.window / 256.0;
    std::printf("%-12s %11.2f %10.2f %9.2f %7.2f %11.0f %11.0f\n", what, false_alarms(kExponential, rules) / costs,
                false_alarms(kRare, rules) / costs, false_alarms(kHeavy, rules) / costs,
                false_alarms(bursty(kExponential), rules) / costs, delay(kExponential, 1.5, rules) * rules.window,
                delay(kExponential, 1.2, rules) * rules.window);
  }
}

/* Decisions of a candidate of twice the cost before the roll-back. */
double given(hak_life_rules rules) {
  double sum = 0;
  for (uint32_t seed = 1; seed <= kSeeds; seed++) {
    Life life(seed, rules);
    life.freeze(kExponential.draw);
    life.try_out(kExponential.draw, times(kExponential.draw, 2));
    sum += life.tally.tried / (kSeeds * 1.0);
  }
  return sum;
}

void print_candidates(const Row &row) {
  const auto promoted = [&](const Draw &own, const Draw &candidate) {
    return share(own, candidate, HAK_LIFE_PROMOTED, kSeeds, row.rules);
  };
  const Draw &own = kExponential.draw, &heavy = kHeavy.draw;
  const Draw tail = [](auto *r) { return kExponential.draw(r) * ((*r)() % 50 == 0 ? 10 : 0.6); };
  std::printf("%-16s %5d %6d %6d %6d %6d %12d %13d %13.0f\n", row.what, promoted(own, own),
              promoted(own, times(own, 0.8)), promoted(own, times(own, 0.9)), promoted(own, times(own, 1.1)),
              promoted(own, tail), promoted(heavy, heavy), promoted(heavy, times(heavy, 0.8)), given(row.rules));
}

/* Of 100 candidates each, the number promoted: of the same costs, of a multiple, of a better mean and a worse p99. */
TEST(LifeFigures, DISABLED_Candidates) {
  std::printf("%-16s %5s %6s %6s %6s %6s %12s %13s %13s\n", "", "same", "x 0.8", "x 0.9", "x 1.1", "tail",
              "heavy: same", "heavy: x 0.8", "given to x 2");
  using R = hak_life_rules;
  for (const Row &row :
       {Row{"usual", hak_life_usual()}, {"one in 10", with(&R::one_in, 10)}, {"one in 40", with(&R::one_in, 40)},
        {"early 32", with(&R::early, 32)}, {"early 128", with(&R::early, 128)}, {"trial 512", with(&R::trial, 512)},
        {"trial 2048", with(&R::trial, 2048)}, {"early_worse 1.5", with(&R::early_worse, 24)},
        {"early_worse 4", with(&R::early_worse, 64)}, {"worse 17/16", with(&R::worse, 17)},
        {"worse 5/4", with(&R::worse, 20)}, {"surely_worse 2", with(&R::surely_worse, 2)},
        {"surely_worse 6", with(&R::surely_worse, 6)}, {"surely_better 1", with(&R::surely_better, 1)},
        {"surely_better 4", with(&R::surely_better, 4)}})
    print_candidates(row);
}

}  // namespace
