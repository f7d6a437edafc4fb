/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ucb_test.cpp: the bandit beside arms whose costs are known.
 *
 * what      learn/ucb.c: arms cost all or nothing of the range, which is the noisiest there is, or a little around
 *           their mean. `UcbFigures` prints the effect of its constants (lab/docs/learners.md) and claims nothing.
 * failure   A best arm that is pulled too seldom, a change that is not followed or a bound that is off fails the test.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

extern "C" {
#include "base/bits.h"
#include "learn/ucb.h"
}

namespace {

constexpr int kPulls = 10000;

/* All or nothing with that probability. */
class Arms {
 public:
  Arms(std::vector<double> means, uint32_t seed) : means_(std::move(means)), random_(seed) {}
  uint32_t cost(uint32_t arm) {
    return std::uniform_real_distribution<double>()(random_) < means_[arm] ? HAK_UCB_RANGE : 0;
  }
  double mean(uint32_t arm) const { return means_[arm]; }
  double least() const { return *std::min_element(means_.begin(), means_.end()); }
  void change(std::vector<double> means) { means_ = std::move(means); }
  uint32_t count() const { return static_cast<uint32_t>(means_.size()); }

 private:
  std::vector<double> means_;
  std::mt19937_64 random_;
};

struct Run {
  std::array<int, HAK_UCB_ARMS> pulls{};
  double regret = 0; /* cost above the best arm's, in ranges */
};

Run live(hak_ucb *ucb, hak_ucb_rules rules, Arms *arms, int pulls) {
  Run run;
  for (int i = 0; i < pulls; i++) {
    const uint32_t arm = hak_ucb_choose(ucb, rules);
    hak_ucb_note(ucb, rules, arm, arms->cost(arm));
    run.pulls[arm]++;
    run.regret += arms->mean(arm) - arms->least();
  }
  return run;
}

hak_ucb_rules plain(uint32_t arms) {
  hak_ucb_rules rules = hak_ucb_usual(arms);
  rules.decay_log = 0;
  return rules;
}

/* ---- arithmetic ---- */

TEST(Root, IsTheWholePartOfTheRoot) {
  std::mt19937_64 random(1);
  for (const uint64_t n : {0ull, 1ull, 3ull, 4ull, 8ull, 9ull, UINT64_MAX - 1ull, UINT64_MAX + 0ull})
    EXPECT_EQ(hak_root(n), static_cast<uint64_t>(std::sqrt(static_cast<long double>(n)))) << n;
  for (int i = 0; i < 100000; i++) {
    const uint64_t n = random() >> (random() % 64), root = hak_root(n);
    ASSERT_LE(root * root, n);
    ASSERT_TRUE(root == UINT32_MAX || (root + 1) * (root + 1) > n) << n;
  }
}

TEST(Ucb, TheBonusIsThePapers) {
  for (const double all : {1.5, 2.0, 10.0, 1000.0, 4096.0, 1e6, 1e9})
    for (const double pulls : {1.0, 1.25, 7.0, 300.0, 1e5, 1e8}) {
      if (pulls > all) continue;
      const double known = std::sqrt(2 * std::log(all) / pulls);
      const double bonus = static_cast<double>(hak_ucb_bonus(static_cast<uint64_t>(all * 65536),
                                                             static_cast<uint64_t>(pulls * 65536), 8)) / 65536;
      EXPECT_NEAR(bonus, known, 1.0 / 16384 + known / 4096) << all << ' ' << pulls;
    }
}

/* ---- known costs ---- */

TEST(Ucb, ArmsThatWereNeverPulledGoFirst) {
  hak_ucb ucb{};
  const hak_ucb_rules rules = hak_ucb_usual(4);
  for (uint32_t arm = 0; arm < 4; arm++) {
    EXPECT_EQ(hak_ucb_choose(&ucb, rules), arm);
    hak_ucb_note(&ucb, rules, arm, 0);
  }
}

void expect_most_pulls(hak_ucb_rules rules, uint32_t best, uint32_t seed) {
  std::vector<double> means(rules.arms, 0.6);
  means[best] = 0.4;
  Arms known(means, seed);
  hak_ucb ucb{};
  EXPECT_GE(live(&ucb, rules, &known, kPulls).pulls[best], kPulls * 8 / 10)
      << rules.arms << " arms, width " << rules.width << " quarters, best " << best << ", seed " << seed;
}

TEST(Ucb, TheBestArmGetsFourFifthsOfThePulls) {
  for (const uint32_t width : {plain(1).width, 8u})
    for (uint32_t arms = 2; arms <= HAK_UCB_ARMS; arms++)
      for (uint32_t best = 0; best < arms; best++)
        for (uint32_t seed = 1; seed <= 5; seed++) expect_most_pulls({arms, 0, width}, best, seed);
}

TEST(Ucb, WhereverTheGapOfAFifthLies) {
  for (const double least : {0.0, 0.1, 0.5, 0.8}) {
    Arms known({least + 0.2, least + 0.2, least, least + 0.2, least + 0.2, least + 0.2}, 7);
    hak_ucb ucb{};
    EXPECT_GE(live(&ucb, plain(6), &known, kPulls).pulls[2], kPulls * 8 / 10) << least;
  }
}

TEST(Ucb, OneArmIsTheBest) {
  hak_ucb ucb{};
  Arms known({0.5}, 1);
  EXPECT_EQ(live(&ucb, plain(1), &known, 100).pulls[0], 100);
}

/* ---- change ---- */

/* Share of the new best arm in the second 5,000 pulls after the old arm became dear. */
double followed(hak_ucb_rules rules, uint32_t seed) {
  Arms known({0.1, 0.4, 0.5, 0.8}, seed);
  hak_ucb ucb{};
  live(&ucb, rules, &known, 100000);
  known.change({0.8, 0.4, 0.6, 0.8});
  live(&ucb, rules, &known, kPulls / 2);
  return live(&ucb, rules, &known, kPulls / 2).pulls[1] / (kPulls / 2.0);
}

TEST(Ucb, WithDecayAChangeOfTheBestArmIsFollowed) {
  for (uint32_t seed = 1; seed <= 10; seed++) EXPECT_GE(followed(hak_ucb_usual(4), seed), 0.8) << seed;
}

TEST(Ucb, WithoutDecayItIsNot) { EXPECT_LE(followed(plain(4), 1), 0.1); }

TEST(Ucb, WithDecayTheSumsStay) {
  const hak_ucb_rules rules = hak_ucb_usual(3);
  hak_ucb ucb{};
  for (int i = 0; i < 200000; i++) hak_ucb_note(&ucb, rules, 1, HAK_UCB_RANGE);
  EXPECT_NEAR(static_cast<double>(ucb.pulls[1]), 4096.0 * 65536, 65536);
  EXPECT_EQ(ucb.cost[1], ucb.pulls[1]);
  hak_ucb_note(&ucb, rules, 2, 0);
  for (int i = 0; i < 200000; i++) hak_ucb_note(&ucb, rules, 1, HAK_UCB_RANGE);
  EXPECT_EQ(ucb.pulls[2], 0u) << "forgotten: it goes first";
  EXPECT_EQ(hak_ucb_choose(&ucb, rules), 0u);
}

TEST(Ucb, CostsBeyondTheRangeAreTheRange) {
  hak_ucb ucb{};
  hak_ucb_note(&ucb, plain(2), 0, UINT32_MAX);
  EXPECT_EQ(ucb.cost[0], HAK_UCB_RANGE + 0u);
}

TEST(Ucb, TheSameCostsGiveTheSameChoices) {
  Arms a({0.3, 0.4, 0.5}, 3), b({0.3, 0.4, 0.5}, 3);
  hak_ucb one{}, two{};
  for (int i = 0; i < 3000; i++) {
    const uint32_t arm = hak_ucb_choose(&one, hak_ucb_usual(3));
    ASSERT_EQ(arm, hak_ucb_choose(&two, hak_ucb_usual(3)));
    hak_ucb_note(&one, hak_ucb_usual(3), arm, a.cost(arm));
    hak_ucb_note(&two, hak_ucb_usual(3), arm, b.cost(arm));
  }
}

/* ---- effect of the constants ---- */

constexpr int kSeeds = 20;

struct Worth {
  double share = 0, least = 1, regret = 0, changing = 0;
};

void still(hak_ucb_rules rules, uint32_t seed, Worth *sum) {
  Arms known({0.6, 0.6, 0.4, 0.6, 0.6, 0.6}, seed);
  hak_ucb ucb{};
  const Run run = live(&ucb, rules, &known, kPulls);
  const double share = run.pulls[2] / (kPulls * 1.0);
  sum->share += share / kSeeds;
  sum->least = std::min(sum->least, share);
  sum->regret += run.regret / kPulls / kSeeds;
}

void changing(hak_ucb_rules rules, uint32_t seed, Worth *sum) {
  Arms known(std::vector<double>(6, 0.6), seed);
  hak_ucb ucb{};
  for (int phase = 0; phase < 6; phase++) {
    std::vector<double> means(6, 0.6);
    means[static_cast<size_t>(phase * 5 % 6)] = 0.3;
    known.change(means);
    sum->changing += live(&ucb, rules, &known, kPulls).regret / kPulls / kSeeds / 6;
  }
}

Worth worth(hak_ucb_rules rules) {
  Worth sum;
  for (uint32_t seed = 1; seed <= kSeeds; seed++) {
    still(rules, seed, &sum);
    changing(rules, seed, &sum);
  }
  return sum;
}

/* Six arms at 0.6 except one at 0.4; or one at 0.3, a different arm after each 10,000 pulls. */
TEST(UcbFigures, DISABLED_Constants) {
  std::printf("width  decay_log  share of best  least share  regret a pull  regret a pull, best changes\n");
  for (const auto &[decay, width] : {std::pair<uint32_t, uint32_t>{0, 8}, {0, 4}, {0, 2}, {0, 1}, {12, 8}, {12, 4},
                                     {12, 2}, {12, 1}, {11, 2}, {13, 2}}) {
    const Worth w = worth({6, decay, width});
    std::printf("%5.2f  %9u  %13.3f  %11.3f  %13.4f  %27.4f\n", width / 4.0, decay, w.share, w.least, w.regret,
                w.changing);
  }
}

}  // namespace
