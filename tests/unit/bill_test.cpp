/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bill_test.cpp: whether a learner has anything to win.
 *
 * what      learn/bill.h: shares of the time, idle days, and what is long ago.
 * failure   A learner that sleeps while it could save, or one that never sleeps, fails the test.
 */
#include <gtest/gtest.h>

extern "C" {
#include "learn/bill.h"
}

namespace {

constexpr uint64_t kMs = 1000000;

TEST(Bill, AwakeBeforeAnythingIsKnown) {
  const hak_bill bill = {};
  EXPECT_FALSE(hak_bill_is_small(&bill));
}

TEST(Bill, BelowAHundredthItSleeps) {
  hak_bill bill = {};
  hak_bill_note(&bill, 10 * kMs, 1000 * kMs);
  EXPECT_FALSE(hak_bill_is_small(&bill));
  hak_bill_note(&bill, 9 * kMs, 1000 * kMs);
  EXPECT_TRUE(hak_bill_is_small(&bill));
}

TEST(Bill, ItWakesWhenTheBillGrows) {
  hak_bill bill = {};
  for (int i = 0; i < 50; i++) hak_bill_note(&bill, kMs, 1000 * kMs);
  EXPECT_TRUE(hak_bill_is_small(&bill));
  int windows = 0;
  for (; hak_bill_is_small(&bill); windows++) hak_bill_note(&bill, 20 * kMs, 100 * kMs);
  EXPECT_LE(windows, 30);
}

TEST(Bill, AnIdleDayIsASecond) {
  hak_bill bill = {};
  hak_bill_note(&bill, 50 * kMs, 1000 * kMs);
  hak_bill_note(&bill, 0, 86400000 * kMs);
  EXPECT_FALSE(hak_bill_is_small(&bill));
}

TEST(Bill, NothingOverflows) {
  hak_bill bill = {};
  for (int i = 0; i < 100000; i++) hak_bill_note(&bill, UINT64_MAX, UINT64_MAX);
  EXPECT_FALSE(hak_bill_is_small(&bill));
  EXPECT_LT(bill.time_ns, uint64_t{1} << 37);
}

}  // namespace
