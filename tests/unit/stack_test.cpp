/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stack_test.cpp: keep times by the height of a level, on levels with known waits.
 *
 * what      learn/stack.c, and retain/watermark.c with a learner and without.
 * failure   A lost or wrong wait, a quantum that stays without demand, or is released though keeping pays.
 * not here  The choice of arms: leader_test.cpp. Memory that really stays: process_Learner.
 */
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

extern "C" {
#include "learn/kinds.h"
#include "learn/stack.h"
#include "retain/rent.h"
#include "retain/watermark.h"
#include "tables/counters.h"
#include "tables/learning.h"
#include "tables/settings.h"
}

/* The locks of both kinds' levels, for rows of a policy. */
extern "C" {
bool hak_release_hold(void) { return true; }
void hak_release_let_go(void) {}
bool hak_runs_hold(void) { return true; }
void hak_runs_let_go(void) {}
}

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20, kBreakEven = 400;
constexpr uint32_t kPlenty = UINT32_MAX;

class Stack : public testing::Test {
 protected:
  void level(uint64_t mib) { level_bytes(mib * kMiB); }
  void level_bytes(uint64_t bytes) {
    const hak_stack_now now = {bytes, now_, break_even_, notes_};
    hak_stack_note(stack_.get(), &now, &score_);
    live_ = bytes;
  }
  void wait(uint64_t ms) { now_ += ms; }
  /* Time passes, and is noted. */
  void rest(uint64_t ms) {
    wait(ms);
    level_bytes(live_);
  }
  void periods(int n, uint64_t high, uint64_t low, uint64_t rest_ms) {
    for (int i = 0; i < n; i++) {
      level(high);
      wait(10);
      level(low);
      wait(rest_ms);
    }
  }
  /* Waits of which a quarter is a little longer than break-even. */
  void mixed(int n, uint64_t high, uint64_t low = 0) {
    for (int i = 0; i < n; i++) {
      periods(3, high, low, kBreakEven * 3 / 5);
      periods(1, high, low, kBreakEven * 5 / 4);
    }
  }
  uint64_t stays() const { return (stack_->may_stay + stack_->unproved) / kMiB; }
  unsigned arm(unsigned k) const { return stack_->arm[k] ^ HAK_ARM_BREAK_EVEN; }
  uint64_t keep(unsigned k) const { return hak_arm_time(arm(k), break_even_); }

  std::unique_ptr<hak_stack> stack_ = std::make_unique<hak_stack>();
  hak_stack_score score_ = {};
  uint64_t now_ = 1000, break_even_ = kBreakEven, live_ = 0;
  uint32_t notes_ = kPlenty;
};

TEST_F(Stack, KnowsNothingAtFirstAndKeepsForBreakEven) {
  level(10);
  level(3);
  EXPECT_EQ(stack_->unproved, 7 * kMiB);
  EXPECT_EQ(stack_->may_stay, 0u);
  rest(kBreakEven - 1);
  EXPECT_EQ(stays(), 7u);
  rest(1);
  EXPECT_EQ(stays(), 0u);
  EXPECT_EQ(score_.waits, 0u);
}

TEST_F(Stack, AWaitIsAsLongAsTheLevelIsBelow) {
  level(4);
  level(1);
  wait(50);
  level(3); /* quanta 1 and 2 waited for 50 */
  wait(30);
  level(4); /* 3 for 80 */
  EXPECT_EQ(score_.waits, 3u);
  const uint64_t fetch = uint64_t{256} << 16;
  const double rents = static_cast<double>(score_.paid) / static_cast<double>(fetch);
  EXPECT_NEAR(rents, 180.0 / kBreakEven, 0.01);
  EXPECT_EQ(score_.paid, score_.baseline);
}

TEST_F(Stack, WhatComesBackWithinBreakEvenStays) {
  periods(40, 20, 0, kBreakEven * 3 / 4);
  rest(0);
  EXPECT_EQ(stays(), 20u);
  EXPECT_EQ(score_.paid, score_.baseline);
}

/* Keeping costs 0.76 fetches each time, fetching 1, break-even 0.95. */
TEST_F(Stack, WhereMostComeBackWithinItItPaysToWaitForTheOthers) {
  mixed(20, 20);
  level(20);
  level(0);
  for (unsigned k = 0; k < 20; k++) EXPECT_EQ(keep(k), kBreakEven * 2) << k;
  rest(kBreakEven * 5 / 4);
  EXPECT_EQ(stays(), 20u);
  EXPECT_LT(score_.paid, score_.baseline * 9 / 10);
}

TEST_F(Stack, WhatAlwaysComesBackLateGoesAtOnce) {
  periods(40, 20, 0, kBreakEven * 5 / 4);
  level(20);
  level(0);
  EXPECT_EQ(stays(), 0u);
  for (unsigned k = 0; k < 20; k++) EXPECT_EQ(arm(k), 0u) << k;
  EXPECT_LT(score_.paid, score_.baseline * 3 / 4);
}

TEST_F(Stack, WhatNeverComesBackIsGivenUp) {
  mixed(20, 20);
  level(20);
  level(0);
  EXPECT_EQ(stays(), 20u);
  rest(4 * kBreakEven + 1);
  EXPECT_EQ(stays(), 0u);
  EXPECT_EQ(stack_->open, 0u) << "noted as waits that never end";
}

TEST_F(Stack, TwoHeightsHaveTwoTimes) {
  for (int i = 0; i < 30; i++) {
    periods(10, 8, 0, kBreakEven / 4); /* the day's waves */
    periods(1, 40, 0, kBreakEven / 4); /* a burst a night */
  }
  level(40);
  level(0);
  for (unsigned k = 0; k < 8; k++) EXPECT_GE(keep(k), kBreakEven / 2) << k;
  for (unsigned k = 9; k < 40; k++) EXPECT_EQ(keep(k), 0u) << k;
  EXPECT_EQ(stays(), 8u);
}

TEST_F(Stack, AnotherPeriodIsLearntAnew) {
  periods(100, 20, 0, kBreakEven / 2);
  EXPECT_EQ(stays(), 20u);
  periods(30, 20, 0, kBreakEven * 3);
  level(20);
  level(0);
  EXPECT_EQ(stays(), 0u);
  periods(30, 20, 0, kBreakEven / 2);
  EXPECT_EQ(stays(), 20u);
}

TEST_F(Stack, ARowThatWasNeverToldInheritsFromTheKind) {
  periods(40, 20, 0, kBreakEven * 3);
  level(30);
  level(0);
  EXPECT_EQ(arm(25), 0u);
  EXPECT_EQ(stack_->quantum[25].weight, 0u);
}

TEST_F(Stack, QuantaAreJoinedWhereThereAreTooMany) {
  periods(40, 60, 30, kBreakEven / 2);
  level(200);
  EXPECT_EQ(hak_stack_quantum_bytes(stack_.get()), 4 * kMiB);
  EXPECT_EQ(stack_->live, 50u);
  for (unsigned k = 0; k < HAK_STACK_QUANTA; k++) /* 32 to 60 MiB, by the first byte of each */
    EXPECT_EQ(stack_->quantum[k].weight != 0, k >= 8 && k < 15) << k;
  level(30);
  EXPECT_EQ(stack_->may_stay, 28 * kMiB);
  EXPECT_EQ(stack_->unproved, (200 - 60) * kMiB);
  level_bytes(UINT64_MAX);
  level(0);
  rest(5 * kBreakEven);
  EXPECT_EQ(stack_->open, 0u);
}

TEST_F(Stack, AClockThatJumps) {
  periods(40, 20, 0, kBreakEven / 2);
  level(20);
  level(0);
  now_ = 5; /* back: waits of nothing */
  level(20);
  level(0);
  EXPECT_EQ(stays(), 20u);
  now_ = UINT64_MAX - 1; /* far ahead: waits that never ended */
  level(0);
  EXPECT_EQ(stays(), 0u);
  EXPECT_EQ(stack_->open, 0u);
  level(20);
  level(0);
  level(20);
  EXPECT_EQ(stack_->live, 20u);
}

TEST_F(Stack, ABreakEvenOfNothingAndForEver) {
  break_even_ = 0;
  periods(10, 20, 0, 1);
  EXPECT_EQ(stays(), 0u);
  stack_ = std::make_unique<hak_stack>();
  break_even_ = UINT64_MAX;
  periods(10, 20, 0, uint64_t{1} << 40);
  EXPECT_EQ(stays(), 20u);
}

TEST_F(Stack, WithoutTimeNothingIsNotedAndWaitsEndAllTheSame) {
  notes_ = 0;
  periods(40, 20, 0, kBreakEven * 3);
  EXPECT_EQ(score_.waits, 0u);
  EXPECT_EQ(score_.skipped, 39u * 20);
  level(20);
  EXPECT_EQ(stack_->open, 0u);
  level(0);
  EXPECT_EQ(stack_->unproved, 20 * kMiB) << "break-even";
}

TEST_F(Stack, WaitsThatAreForgottenAreNotNoted) {
  level(20);
  level(0);
  hak_stack_forget_waits(stack_.get());
  EXPECT_EQ(stays(), 0u);
  level(20);
  EXPECT_EQ(score_.waits, 0u);
}

/* Every quantum by itself. */
TEST_F(Stack, AsCountedByHand) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> since(64, 0);
  std::vector<bool> open(64, false);
  uint64_t quantum = kMiB, live = 0, waits = 0, stay = 0;
  for (int i = 0; i < 20000; i++) {
    wait(random() % 300);
    const uint64_t bytes = random() % (60 * kMiB), quanta = (bytes + quantum - 1) / quantum;
    for (size_t k = 0; k < 64; k++) {
      const bool over = open[k] && (k < quanta || now_ - since[k] > 4 * kBreakEven);
      waits += over;
      if (over) open[k] = false;
      if (k >= quanta && k < live) since[k] = now_, open[k] = true;
    }
    live = quanta;
    level_bytes(bytes);
    stay = 0;
    for (size_t k = 0; k < 64; k++) {
      ASSERT_EQ(open[k], (stack_->open >> k & 1) != 0) << k;
      stay += open[k] && now_ - since[k] < keep(static_cast<unsigned>(k)) ? 1 : 0;
    }
    ASSERT_EQ(stays(), stay);
  }
  EXPECT_EQ(score_.waits, waits);
}

/* ---- a level that learns ---- */

constexpr hak_learning kLearning = {nullptr, nullptr, nullptr, nullptr, nullptr, hak_kinds_begin, hak_kinds_noted,
                                    [](const hak_look *) {}};

class Level : public testing::Test {
 protected:
  void SetUp() override {
    hak_watermark_set_rent(&level_, kBreakEven);
    hak_watermark_set_rent(&plain_, kBreakEven);
    g_learning = &kLearning;
    hak_watermark_learn(&level_, HAK_KIND_RUNS, true);
  }
  void TearDown() override {
    g_settings.mode = HAK_MODE_BASELINE;
    g_learning = nullptr;
  }
  void note(uint64_t mib) {
    hak_watermark_note(&level_, mib * kMiB, now_);
    hak_watermark_note(&plain_, mib * kMiB, now_);
  }
  void periods(int n, uint64_t mib, uint64_t rest_ms) {
    for (int i = 0; i < n; i++) {
      note(mib);
      now_ += 10;
      note(0);
      now_ += rest_ms;
    }
  }
  uint64_t stays(const hak_watermark &level) { return hak_watermark_keep_limit(&level, HAK_WATERMARK_LEAST, 28) / kMiB; }

  hak_watermark level_ = {}, plain_ = {};
  uint64_t now_ = 1000;
};

TEST_F(Level, InShadowNothingIsDone) {
  g_settings.mode = HAK_MODE_SHADOW;
  std::mt19937_64 random(2);
  for (int i = 0; i < 5000; i++) {
    now_ += random() % 500;
    note(random() % 100);
    ASSERT_EQ(stays(level_), stays(plain_));
    ASSERT_EQ(hak_watermark_is_flat(&level_), hak_watermark_is_flat(&plain_));
  }
  EXPECT_NE(hak_counter_value(HAK_COUNTER_kinds_waits), 0u) << "it is noted all the same";
}

TEST_F(Level, WhatIsKnownNeedsNoProofAndTheRestDoes) {
  g_settings.mode = HAK_MODE_EVOLVING;
  note(100);
  note(0);
  EXPECT_EQ(stays(level_), 8u) << "nothing was taken again";
  for (int i = 0; i < 20; i++) {
    periods(3, 100, kBreakEven * 3 / 5);
    periods(1, 100, kBreakEven * 5 / 4);
  }
  note(100);
  note(0);
  now_ += kBreakEven * 5 / 4;
  note(0);
  EXPECT_EQ(stays(plain_), 0u);
  EXPECT_EQ(stays(level_), 100u);
  EXPECT_FALSE(hak_watermark_is_flat(&level_));
  now_ += 3 * kBreakEven;
  note(0);
  EXPECT_EQ(stays(level_), 0u);
  EXPECT_TRUE(hak_watermark_is_flat(&level_));
}

TEST_F(Level, BeginsAnewWithWhatWasLearnt) {
  g_settings.mode = HAK_MODE_EVOLVING;
  periods(40, 100, kBreakEven * 3);
  note(100);
  hak_watermark_learn(&level_, HAK_KIND_RUNS, false);
  note(0);
  EXPECT_EQ(stays(level_), stays(plain_));
  now_ += 10;
  hak_watermark_learn(&level_, HAK_KIND_RUNS, true);
  note(100);
  note(0);
  EXPECT_EQ(stays(level_), 0u) << "as before";
}

TEST_F(Level, WithoutAGuestNothingIsLearnt) {
  g_learning = nullptr;
  g_settings.mode = HAK_MODE_EVOLVING;
  hak_watermark level = {};
  hak_watermark_learn(&level, HAK_KIND_RUNS, true);
  hak_watermark_note(&level, 100 * kMiB, now_);
  EXPECT_EQ(level.learnt, nullptr);
}

/* Gives all rows of the runs to the slabs, as a policy does. */
void hand_rows_over() {
  uint64_t row[HAK_ROW_NUMBERS];
  ASSERT_TRUE(hak_kinds_out(HAK_KIND_RUNS, 0, row));
  hak_kinds_in(HAK_KIND_SLABS, row, HAK_ROW_TAKE);
  for (unsigned k = 0; k < HAK_STACK_QUANTA; k++)
    if (hak_kinds_level_out(HAK_KIND_RUNS, k, row)) hak_kinds_level_in(HAK_KIND_SLABS, row, HAK_ROW_TAKE);
}

TEST_F(Level, FrozenIsAsLearntByAnotherProcessAndLearnsNothing) {
  g_settings.mode = HAK_MODE_EVOLVING;
  for (int i = 0; i < 20; i++) {
    periods(3, 60, kBreakEven * 3 / 5);
    periods(1, 60, kBreakEven * 5 / 4);
  }
  hand_rows_over();
  g_settings.mode = HAK_MODE_FROZEN;
  const uint64_t waits = hak_counter_value(HAK_COUNTER_kinds_waits);
  hak_watermark fresh = {};
  hak_watermark_set_rent(&fresh, kBreakEven);
  hak_watermark_learn(&fresh, HAK_KIND_SLABS, hak_rent_kinds_learn());
  for (int i = 0; i < 40; i++) {
    hak_watermark_note(&fresh, 60 * kMiB, now_);
    hak_watermark_note(&fresh, 0, now_ += 10);
    hak_watermark_note(&fresh, 0, now_ += kBreakEven * 5 / 4);
    EXPECT_EQ(stays(fresh), 60u);
    hak_watermark_note(&fresh, 0, now_ += 20 * kBreakEven);
    EXPECT_EQ(stays(fresh), 0u) << "which would be learnt to go at once";
  }
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_kinds_waits), waits);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_kinds_skipped), 0u);
}

TEST_F(Level, KindsLearnInTheModesThatLearn) {
  g_kinds_known = false;
  for (uint64_t mode = HAK_MODE_OFF; mode <= HAK_MODE_FROZEN; mode++) {
    g_settings.mode = mode;
    g_settings.learn_kinds = 1;
    EXPECT_EQ(hak_rent_kinds_learn(), mode == HAK_MODE_SHADOW || mode == HAK_MODE_EVOLVING) << mode;
    g_settings.learn_kinds = 0;
    EXPECT_FALSE(hak_rent_kinds_learn()) << mode;
  }
  g_settings.learn_kinds = 1;
}

}  // namespace
