/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cost_test.cpp: measured costs of memory, and the decisions that follow.
 *
 * what      retain/cost.c and retain/rent.c on a machine with costs set by the test.
 * owner     Each case runs in a separate process.
 * failure   A time or a choice that is unchanged after a cost changed fails the test.
 * not here  The measurement: os_test.cpp. A whole program: process_Costs.
 */
#include <gtest/gtest.h>

extern "C" {
#include "fake_os.h"
#include "os/os.h"
#include "retain/cost.h"
#include "retain/rent.h"
#include "tables/hold.h"
}

namespace {

constexpr size_t kTwoMiB = size_t{2} << 20;
const size_t kPage = hak_os_page_bytes();

void measure(uint64_t call_ns, uint64_t page_ns, uint64_t move_ns) {
  fake_os.call_ns = call_ns;
  fake_os.page_ns = page_ns;
  fake_os.move_ns = move_ns;
  g_cost = {};
  hak_cost_measure(1);
}

class Cost : public testing::Test {
 protected:
  void TearDown() override { g_settings.cost_call = g_settings.cost_page = g_settings.cost_move = 0; }
};

TEST_F(Cost, ACheapMachineKeepsAnEighthAsLong) {
  measure(32000, 32000, 50);
  const uint64_t dear = hak_rent_ms(kTwoMiB);
  measure(4000, 4000, 50);
  EXPECT_NEAR(static_cast<double>(dear) / static_cast<double>(hak_rent_ms(kTwoMiB)), 8, 0.1);
}

TEST_F(Cost, NoCostIsAConstant) {
  measure(1000, 1000, 50);
  const uint64_t stretch = hak_rent_ms(kTwoMiB), page = hak_rent_ms(kPage);
  EXPECT_FALSE(hak_cost_moves(105 * kPage));
  EXPECT_TRUE(hak_cost_moves(106 * kPage));
  measure(1000, 3000, 50);
  EXPECT_GT(hak_rent_ms(kTwoMiB), 2 * stretch) << "a page";
  measure(9000, 1000, 50);
  EXPECT_GT(hak_rent_ms(kPage), 2 * page) << "a kernel call";
  EXPECT_FALSE(hak_cost_moves(106 * kPage)) << "a kernel call";
  EXPECT_TRUE(hak_cost_moves(1000 * kPage));
  measure(1000, 1000, 900);
  EXPECT_FALSE(hak_cost_moves(900 * kPage)) << "a moved page";
  measure(1000, 1000, 1000);
  EXPECT_FALSE(hak_cost_moves(kTwoMiB)) << "moving is no cheaper";
  measure(1000, 900, 1000);
  EXPECT_FALSE(hak_cost_moves(kTwoMiB)) << "moving costs more than the pages";
}

TEST_F(Cost, ASettingTakesItsPlace) {
  measure(1000, 1000, 50);
  ASSERT_EQ(hak_settings_set("lab_cost_page", "4000", false), 0);
  EXPECT_EQ(hak_cost_page(), 4000u);
  EXPECT_EQ(hak_cost_call(), 1000u);
  ASSERT_EQ(hak_settings_set("lab_cost_call", "7", false), 0);
  ASSERT_EQ(hak_settings_set("lab_cost_move", "3", false), 0);
  EXPECT_EQ(hak_cost_call(), 7u);
  EXPECT_EQ(hak_cost_move(), 3u);
  const uint64_t before = fake_os.measurements;
  measure(1, 1, 1);
  EXPECT_EQ(fake_os.measurements, before) << "measured for nobody";
}

/* A program that holds all its memory may not fault, and a measurement touches new pages. */
TEST_F(Cost, IsNotMeasuredWhereAllIsHeld) {
  measure(1000, 1000, 50);
  const uint64_t before = fake_os.measurements;
  g_hold_floor = UINT64_MAX;
  hak_cost_refresh(1 + HAK_COST_AGAIN_MS);
  hak_cost_refresh(2 + 2 * HAK_COST_AGAIN_MS);
  EXPECT_EQ(fake_os.measurements, before);
  g_hold_floor = 0;
  hak_cost_refresh(3 + 3 * HAK_COST_AGAIN_MS);
  EXPECT_EQ(fake_os.measurements, before + 1);
}

TEST_F(Cost, IsMeasuredNowAndThen) {
  measure(1000, 1000, 50);
  const uint64_t first = fake_os.measurements;
  for (uint64_t ms = 1; ms < HAK_COST_AGAIN_MS; ms += 100) hak_cost_refresh(ms);
  EXPECT_EQ(fake_os.measurements, first);
  hak_cost_refresh(1 + HAK_COST_AGAIN_MS);
  hak_cost_refresh(1 + HAK_COST_AGAIN_MS);
  EXPECT_EQ(fake_os.measurements, first + 1);
}

TEST_F(Cost, IsNotMeasuredAnyMoreInASandbox) {
  fake_os.page_ns = fake_os.call_ns = 700;
  g_cost = {};
  hak_cost_measure_last(1);
  EXPECT_EQ(hak_cost_page(), 700u);
  const uint64_t before = fake_os.measurements;
  hak_cost_refresh(1000 * HAK_COST_AGAIN_MS);
  hak_cost_measure_last(1000 * HAK_COST_AGAIN_MS);
  EXPECT_EQ(fake_os.measurements, before);
}

TEST_F(Cost, WhatInterruptsATrialIsNotBelieved) {
  measure(1000, 1000, 50);
  fake_os.page_ns = 1000000;
  hak_cost_measure(HAK_COST_AGAIN_MS);
  EXPECT_LE(hak_cost_page(), 1250u);
  fake_os.page_ns = 500;
  for (int n = 0; n < 40; n++) hak_cost_measure(HAK_COST_AGAIN_MS);
  EXPECT_NEAR(static_cast<double>(hak_cost_page()), 500, 5) << "what stays another cost is learned";
}

TEST_F(Cost, ALeastThatWasTooLittleIsCorrected) {
  measure(1, 1, 1);
  fake_os.call_ns = fake_os.page_ns = fake_os.move_ns = 400;
  for (int n = 0; n < 60; n++) hak_cost_measure(HAK_COST_AGAIN_MS);
  for (const uint64_t ns : {hak_cost_call(), hak_cost_page(), hak_cost_move()}) EXPECT_NEAR(static_cast<double>(ns), 400, 5);
}

TEST_F(Cost, WithoutMemoryWhatWasKnownStays) {
  measure(1000, 0, 50);
  EXPECT_EQ(hak_cost_page(), hak_os_page_bytes() / 4096 * HAK_COST_FIRST_PAGE);
  measure(1000, 700, 50);
  fake_os.page_ns = 0;
  hak_cost_measure(HAK_COST_AGAIN_MS);
  EXPECT_EQ(hak_cost_page(), 700u);
}

TEST_F(Cost, WhereNothingCanBeMovedTheOthersAreKnown) {
  measure(1100, 700, 0);
  EXPECT_EQ(hak_cost_call(), 1100u);
  EXPECT_EQ(hak_cost_page(), 700u);
  EXPECT_EQ(hak_cost_move(), uint64_t{HAK_COST_FIRST_MOVE});
  hak_cost_measure(HAK_COST_AGAIN_MS);
  EXPECT_EQ(hak_cost_move(), uint64_t{HAK_COST_FIRST_MOVE});
  fake_os.move_ns = 90;
  hak_cost_measure(HAK_COST_AGAIN_MS);
  EXPECT_EQ(hak_cost_move(), 90u);
  fake_os.move_ns = 0;
  hak_cost_measure(HAK_COST_AGAIN_MS);
  EXPECT_EQ(hak_cost_move(), 90u);
}

}  // namespace
