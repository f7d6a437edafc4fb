/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_learn_test.cpp: keep times of big blocks, learnt.
 *
 * what      learn/big_keep.c registered in tables/learning.h, with the big blocks reported there.
 * owner     Each case runs in a separate process.
 * failure   Learnt times act in a mode without learning, take more than their share of the time, or outlast a fork in
 *           the middle of an update.
 * not here  The choice of arms: leader_test.cpp. Keep times set for a site: big_keep_test.cpp.
 */
#include "big_case.h"

extern "C" {
#include "base/time_budget.h"
#include "learn/big_keep.h"
#include "tables/learning.h"
#include "tables/site.h"
}

namespace {

enum : uint64_t { kLong = 4096 };

constexpr hak_learning kLearning = {nullptr, nullptr, hak_big_keep_taken, hak_big_keep_freed, hak_big_keep_cut,
                                    nullptr, nullptr, [](const hak_look *) {}};

struct BigLearns : Big {
  void SetUp() override {
    Big::SetUp();
    g_learning = &kLearning;
    g_settings.learn_keep = 1;
  }
};

const void *address(uintptr_t n) { return reinterpret_cast<const void *>(n * 16); }

unsigned site(uintptr_t n, uint64_t keep_ms) {
  EXPECT_TRUE(hak_site_set_keep(address(n), hak_keep_for(keep_ms)));
  return hak_site_of(address(n), __builtin_frame_address(0));
}

char *alloc_for(unsigned site, size_t n) {
  bool zero = false;
  return static_cast<char *>(hak_big_alloc(n, 1, site, &zero));
}

/* A block that waits for longer than break-even, `times` times. */
void wait_in_vain(unsigned site, int times) {
  for (; times > 0; times--) {
    char *p = alloc_for(site, 4 * kMiB);
    hak_big_free(p);
    fake_os.now_ms += 2 * hak_rent_piece_ms();
  }
}

TEST_F(BigLearns, WhatIsLearntIsDoneInEvolvingAlone) {
  const unsigned own = site(1, 0);
  for (auto mode : {HAK_MODE_OFF, HAK_MODE_BASELINE, HAK_MODE_SHADOW, HAK_MODE_EVOLVING, HAK_MODE_FROZEN}) {
    g_settings.mode = mode;
    wait_in_vain(own, 40);
    hak_big_free(alloc_for(own, 4 * kMiB));
    EXPECT_EQ(kept(), mode < HAK_MODE_EVOLVING ? 4 * kMiB : 0) << mode;
  }
  EXPECT_GT(hak_counter_value(HAK_COUNTER_learn_decisions), 0u);
}

uint64_t waits_noted() { return hak_counter_value(HAK_COUNTER_learn_waits); }

void free_again_and_again(unsigned site, uint64_t bytes, int times) {
  for (; times > 0; times--) hak_big_free(alloc_for(site, bytes));
}

/* In a window whose budget is half used up by one bin. */
TEST_F(BigLearns, ABusyBinPassesByAndOthersDoNot) {
  const unsigned own = site(1, 0);
  g_settings.mode = HAK_MODE_EVOLVING;
  free_again_and_again(own, 4 * kMiB, 20000);
  uint64_t busy = waits_noted();
  EXPECT_LT(busy, 15000u);
  free_again_and_again(own, 4 * kMiB, 100);
  EXPECT_EQ(waits_noted(), busy);
  free_again_and_again(own, 2 * kMiB, 10);
  EXPECT_GE(waits_noted(), busy + 9);
  fake_os.now_ms += HAK_BUDGET_WINDOW_MS;
  busy = waits_noted();
  free_again_and_again(own, 4 * kMiB, 10);
  EXPECT_GE(waits_noted(), busy + 9);
  EXPECT_GT(hak_counter_value(HAK_COUNTER_learn_skipped), 10000u);
}

TEST_F(BigLearns, WhoWasToldAKeepTimeIsNotTaughtAnother) {
  g_settings.mode = HAK_MODE_EVOLVING;
  const unsigned own = site(1, kLong);
  wait_in_vain(own, 40);
  hak_big_free(alloc_for(own, 4 * kMiB));
  EXPECT_EQ(kept(), 4 * kMiB);
}

TEST_F(BigLearns, LearningHasItsShareOfAWindow) {
  g_settings.mode = HAK_MODE_EVOLVING;
  const unsigned own = site(1, 0);
  for (int i = 0; i < 100000; i++) hak_big_free(alloc_for(own, 4 * kMiB));
  EXPECT_GT(hak_counter_value(HAK_COUNTER_learn_waits), 100u);
  EXPECT_LE(hak_counter_value(HAK_COUNTER_learn_waits), 1000u) << "a millisecond of 256, a note said to take one us";
  fake_os.now_ms += 300;
  hak_big_free(alloc_for(own, 4 * kMiB));
  EXPECT_GT(hak_counter_value(HAK_COUNTER_learn_skipped), 190000u);
}

TEST_F(BigLearns, AForkForgetsWhoWaits) {
  g_settings.mode = HAK_MODE_EVOLVING;
  const unsigned own = site(1, 0);
  std::vector<char *> held;
  for (int i = 0; i < 20; i++) held.push_back(alloc_for(own, 4 * kMiB));
  for (char *p : held) hak_big_free(p);
  hak_inside_big_damage();
  hak_inside_vanish(hak_inside_big_lock());
  char *p = alloc_for(own, 4 * kMiB);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_learn_waits), 0u);
  hak_big_free(p);
}

TEST_F(BigLearns, WithoutAGuestNothingIs) {
  g_learning = nullptr;
  g_settings.mode = HAK_MODE_EVOLVING;
  const unsigned own = site(1, 0);
  wait_in_vain(own, 40);
  hak_big_free(alloc_for(own, 4 * kMiB));
  EXPECT_EQ(kept(), 4 * kMiB);
  EXPECT_EQ(waits_noted(), 0u);
}

}  // namespace
