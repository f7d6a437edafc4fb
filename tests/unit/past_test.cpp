/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* past_test.cpp: what earlier runs of a program say of the next one.
 *
 * what      learn/past.c on a clock and a footprint that the test sets.
 * owner     Each case runs in a process of its own.
 * failure   A wrong mean, or a run that keeps where it should give back, fails the test.
 * not here  The file: tests/process/policy_test.py.
 */
#include <gtest/gtest.h>

extern "C" {
#include "fake_os.h"
#include "learn/past.h"
#include "reclaim/peak_limit.h"
#include "retain/footprint.h"
#include "retain/huge.h"
#include "retain/rent.h"
#include "tables/settings.h"

struct hak_peak g_peak;
}

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint32_t kKibOfMiB = 1024;

/* 30 ms paid where 5 GiB x ms cost 3.3 ms at `balanced`, and 26 ms at `lean`. */
constexpr hak_past kPays = {.runs = 1, .life_ms = 200, .peak_kib = 100 * kKibOfMiB, .paid_us = 30000, .kept_mib_ms = 5120};

class Past : public testing::Test {
 protected:
  void SetUp() override {
    fake_os_reset();
    fake_os.now_ms = 1000;
    fake_os.huge_bytes = 2 * kMiB;
    fake_os.page_bytes = 4096; /* costs are told for 256 pages of a MiB */
    g_settings.cost_page = 1000;
  }

  static void begin(hak_past before = {}, bool acts = true, bool always = false) { hak_past_begin(&before, acts, always); }
  static void resident(uint64_t mib) { hak_store(&g_footprint.span, mib * kMiB); }
  static void pass(uint64_t ms) { fake_os.now_ms += ms; }

  /* A look that finds `before` MiB, and leaves `after`; of the runs, `empty` MiB of pages lie empty in slabs then. */
  static void look(uint64_t before, uint64_t after, uint64_t ms = 0, uint64_t empty = 0) {
    const hak_look found = {fake_os.now_ms * 1000000, before * kMiB, hak_load(&g_footprint.empty)};
    hak_store(&g_footprint.empty, empty * kMiB);
    resident(after + empty);
    pass(ms);
    hak_past_looked(&found);
  }

  static hak_past ended(hak_past row = {}) {
    EXPECT_TRUE(hak_past_counts());
    hak_past_add(&row);
    return row;
  }

  static bool keeps() { return hak_load(&g_rent.keeps_until_ms) != 0; }
};

TEST_F(Past, WhatWasGivenBackAndNotFetchedAgainIsRentSaved) {
  begin();
  pass(100);
  look(100, 20, 7);
  pass(900);
  const hak_past row = ended();
  EXPECT_EQ(row.runs, 1u);
  EXPECT_EQ(row.life_ms, 1007u);
  EXPECT_EQ(row.peak_kib, 100 * kKibOfMiB);
  EXPECT_EQ(row.paid_us, 7000u);
  EXPECT_EQ(row.kept_mib_ms, 80u * 900);
}

TEST_F(Past, WhatIsFetchedAgainCostsPagesAndIsOutForHalfOfTheTime) {
  begin();
  look(100, 20);
  pass(500);
  look(100, 20);
  const hak_past row = ended();
  EXPECT_EQ(row.paid_us, 80 * 256u);
  EXPECT_EQ(row.kept_mib_ms, 40u * 500);
}

/* 80 MiB of one class go, and another class takes as much. */
TEST_F(Past, EmptyPagesOfSlabsAreOutAsLongAsTheyLieEmpty) {
  begin();
  look(100, 20, 0, 80);
  pass(500);
  look(100, 20, 0, 160);
  pass(500);
  resident(20);
  hak_store(&g_footprint.empty, 0); /* the slabs are gone */
  const hak_past row = ended();
  EXPECT_EQ(row.paid_us, 0u);
  EXPECT_EQ(row.kept_mib_ms, 80u * 500 + 80u * 500);
}

TEST_F(Past, NoMoreIsOutThanWasGivenBack) {
  begin();
  look(100, 90);
  pass(100);
  look(20, 20); /* the program unmapped 70 MiB itself */
  EXPECT_EQ(ended().kept_mib_ms, 10u * 100);
}

TEST_F(Past, ARunKeepsIfGivingBackCostMoreThanItSaved) {
  begin(kPays);
  EXPECT_EQ(hak_load(&g_rent.keeps_until_ms), 1000u + 4 * 200);
  EXPECT_EQ(hak_load(&g_rent.keeps_bytes), 125 * kMiB);
}

TEST_F(Past, AndNotWhereMemoryIsDearer) {
  g_settings.price = 6000000;
  begin(kPays);
  EXPECT_FALSE(keeps());
}

TEST_F(Past, ALookThatWasInterruptedCountsAsLongAsItsWorkTakes) {
  begin();
  pass(100);
  look(100, 99, 5000); /* 256 pages of 1 us, and 50 us */
  EXPECT_EQ(ended().paid_us, 306u);
}

TEST_F(Past, NoRunPaysMoreThanItsTime) {
  begin();
  look(1000, 0, 100);
  look(1000, 0, 0); /* 256,000 pages are fetched again within no time */
  EXPECT_EQ(ended().paid_us, 100000u);
  hak_past wrong = kPays;
  wrong.paid_us = 201000;
  begin(wrong);
  EXPECT_FALSE(keeps());
}

TEST_F(Past, NoneKeepsForMoreThanAMinute) {
  hak_past slow = kPays;
  slow.life_ms = 3600000;
  slow.paid_us = 40000000;
  begin(slow);
  EXPECT_EQ(hak_load(&g_rent.keeps_until_ms), 1000u + 60000);
}

TEST_F(Past, AnotherModeEndsIt) {
  begin(kPays);
  g_settings.mode = HAK_MODE_SHADOW;
  hak_past_heed();
  EXPECT_FALSE(keeps());
  EXPECT_EQ(hak_load(&g_footprint.foreseen), 0u);
}

TEST_F(Past, NorForLittle) {
  hak_past little = kPays;
  little.paid_us = 499;
  little.kept_mib_ms = 0;
  begin(little);
  EXPECT_FALSE(keeps());
}

TEST_F(Past, NorForLessThanAHundredthOfARun) {
  hak_past row = kPays;
  row.life_ms = 3001;
  begin(row);
  EXPECT_FALSE(keeps());
  row.life_ms = 3000;
  begin(row);
  EXPECT_TRUE(keeps());
}

TEST_F(Past, NorAtTheFirstRunNorInTheShadow) {
  begin();
  EXPECT_FALSE(keeps());
  begin(kPays, false);
  EXPECT_FALSE(keeps());
  EXPECT_EQ(hak_load(&g_footprint.foreseen), 0u);
}

TEST_F(Past, EachSixteenthRunGivesBackUnlessFrozen) {
  hak_past row = kPays;
  row.runs = 31;
  begin(row);
  EXPECT_FALSE(keeps());
  begin(row, true, true);
  EXPECT_TRUE(keeps());
}

TEST_F(Past, ARunThatKeepsMeasuresNoCost) {
  begin(kPays);
  resident(120);
  pass(400);
  const hak_past row = ended(kPays);
  EXPECT_EQ(row.runs, 2u);
  EXPECT_EQ(row.life_ms, 300u);
  EXPECT_EQ(row.peak_kib, 110 * kKibOfMiB);
  EXPECT_EQ(row.paid_us, kPays.paid_us);
  EXPECT_EQ(row.kept_mib_ms, kPays.kept_mib_ms);
}

TEST_F(Past, AfterOneThatLivedLongerTheNextMeasures) {
  begin(kPays);
  resident(100);
  pass(901);
  const hak_past row = ended(kPays);
  EXPECT_EQ(row.paid_us, UINT32_MAX);
}

TEST_F(Past, WhatIsMeasuredThenCountsAlone) {
  hak_past row = kPays;
  row.runs = 100;
  row.paid_us = UINT32_MAX;
  row.life_ms = UINT32_MAX; /* more than may be paid */
  begin(row);
  EXPECT_FALSE(keeps());
  look(100, 50, 10);
  pass(10);
  EXPECT_EQ(ended(row).paid_us, 10000u);
}

TEST_F(Past, APeakBetweenTwoLooksIsSeen) {
  begin();
  hak_store(&g_peak.bytes, 64 * kMiB);
  look(10, 10);
  EXPECT_EQ(ended().peak_kib, 64 * kKibOfMiB);
}

TEST_F(Past, TheTimeOfALookIsNoTimeOut) {
  begin();
  look(100, 50, 20);
  look(50, 40, 20);
  pass(10);
  EXPECT_EQ(ended().kept_mib_ms, 60 * 10u);
}

TEST_F(Past, ALookAtWhatIsFetchedAgainIsInThePagesCost) {
  begin();
  look(100, 60, 10);
  resident(80);
  look(80, 80);
  pass(90);
  EXPECT_EQ(ended().paid_us, 5000 + 20 * 256u);
}

TEST_F(Past, AndAfterOneThatGrewLarger) {
  begin(kPays);
  resident(126);
  const hak_past row = ended(kPays);
  EXPECT_EQ(row.paid_us, UINT32_MAX);
  EXPECT_EQ(row.kept_mib_ms, 4 * kPays.kept_mib_ms);
  EXPECT_EQ(row.peak_kib, kPays.peak_kib) << "it may have grown by what it kept";
}

TEST_F(Past, ALargeHeapIsForeseen) {
  begin({.runs = 1, .life_ms = 1, .peak_kib = 16 * kKibOfMiB - 1, .paid_us = 0, .kept_mib_ms = 0});
  EXPECT_EQ(hak_load(&g_footprint.foreseen), 0u);
  begin({.runs = 1, .life_ms = 1, .peak_kib = 16 * kKibOfMiB, .paid_us = 0, .kept_mib_ms = 0});
  EXPECT_EQ(hak_load(&g_footprint.foreseen), HAK_HUGE_LEAST - 2 * kMiB);
}

TEST_F(Past, ASmallHeapIsLeftAlone) {
  begin();
  hak_store(&g_footprint.span, 2 * kMiB - 1024);
  EXPECT_FALSE(hak_past_counts());
}

TEST_F(Past, NothingOverflows) {
  hak_past row = {.runs = UINT32_MAX, .life_ms = UINT32_MAX, .peak_kib = UINT32_MAX, .paid_us = UINT32_MAX,
                  .kept_mib_ms = UINT32_MAX};
  begin(row);
  look(uint64_t{1} << 27, 1);
  pass(uint64_t{1} << 40);
  row = ended(row);
  EXPECT_EQ(row.runs, UINT32_MAX);
}

}  // namespace
