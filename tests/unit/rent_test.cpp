/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rent_test.cpp: the price as a time, the amount that may stay, and the footprint against the hard limit.
 *
 * what      retain/rent.c, rent.h and footprint.h: no clock, no kernel.
 * owner     Each case restores settings and cells.
 * failure   A time that differs from the cost of keeping, or a wrong sum fails the test.
 * not here  Releases at the end of the rent: runs_age_test.cpp, big_test.cpp, slab_purge_test.cpp.
 */
#include <gtest/gtest.h>

#include <random>
#include <vector>

extern "C" {
#include "os/os.h"
#include "retain/footprint.h"
#include "retain/rent.h"
#include "tables/settings.h"
}

namespace {

constexpr size_t kTwoMiB = size_t{2} << 20;
constexpr uint64_t kDayMs = 86400000, kDearest = 1000000000000;

class Rent : public testing::Test {
 protected:
  void TearDown() override {
    price(640000);
    pressure(0);
    g_footprint = {};
    g_settings.hard_limit = 0;
  }
  static void price(uint64_t ns) { g_settings.price = ns; }
  static void pressure(uint64_t shift) { g_rent.pressure = shift; }
  static uint64_t priced(const char *word, size_t bytes) {
    EXPECT_EQ(hak_settings_set("price", word, false), 0);
    return hak_rent_ms(bytes);
  }
};

/* The formula of rent.h for the kernel's pages, in numbers that cannot overflow. */
double reckoned_ms(uint64_t price, size_t bytes) {
  const size_t page = hak_os_page_bytes();
  const double pages = std::max(1.0, static_cast<double>(bytes / page)), per_mib = static_cast<double>((1 << 20) / page);
  const double page_ns = 1000 * static_cast<double>(page / 4096);
  const double again_ns = 2000 + page_ns * pages, rent_ns_per_ms = static_cast<double>(price) * pages / per_mib / 1000;
  return again_ns / rent_ns_per_ms;
}

TEST_F(Rent, TheThreeWordsAreTheTimesThatAreTold) {
  EXPECT_NEAR(static_cast<double>(priced("speed", kTwoMiB)), 30000, 300);
  EXPECT_NEAR(static_cast<double>(priced("balanced", kTwoMiB)), 400, 4);
  EXPECT_NEAR(static_cast<double>(priced("lean", kTwoMiB)), 50, 0.5);
}

TEST_F(Rent, BalancedIsWhereItStarts) {
  EXPECT_EQ(hak_rent_ms(kTwoMiB), priced("balanced", kTwoMiB));
  EXPECT_EQ(hak_load(&g_rent.pressure), 0u);
}

TEST_F(Rent, UntilATimeThatIsKnownFreeMemoryStaysAsAtSpeed) {
  const uint64_t balanced = hak_rent_ms(kTwoMiB), speed = priced("speed", kTwoMiB);
  price(640000);
  hak_store(&g_rent.now_ms, 99);
  hak_rent_keep_until(100, 7 << 20);
  EXPECT_EQ(hak_rent_ms(kTwoMiB), speed);
  EXPECT_EQ(hak_rent_keep_floor(), UINT64_MAX);
  hak_watermark level = {};
  level.most = 100 << 20;
  EXPECT_EQ(hak_rent_keep_limit(&level, 0), uint64_t{7} << 20);
  price(1);
  EXPECT_GT(hak_rent_ms(kTwoMiB), speed) << "who pays for more has more";
  EXPECT_EQ(hak_rent_keep_limit(&level, 0), uint64_t{100} << 20) << "and its own bound";
  price(640000);
  hak_store(&g_rent.now_ms, 100);
  EXPECT_EQ(hak_rent_ms(kTwoMiB), balanced);
  hak_rent_keep_until(0, 0);
}

TEST_F(Rent, IsTheBreakEvenTime) {
  for (const uint64_t ns : {1u, 8500u, 640000u, 5140000u}) {
    price(ns);
    for (size_t bytes = 1; bytes <= size_t{4} << 30; bytes = bytes * 3 + 1) {
      const double ms = reckoned_ms(ns, bytes), most = static_cast<double>(kDayMs);
      EXPECT_NEAR(static_cast<double>(hak_rent_ms(bytes)), std::min(ms, most), 1 + ms / 100) << bytes << " at " << ns;
    }
  }
}

TEST_F(Rent, ADearerPriceIsNeverALongerTime) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; i++) {
    const size_t bytes = random() >> (17 + random() % 47);
    uint64_t before = UINT64_MAX;
    for (uint64_t ns = 0; ns <= kDearest; ns = ns * 2 + random() % 3 + 1) {
      price(ns);
      const uint64_t ms = hak_rent_ms(bytes);
      ASSERT_LE(ms, before) << bytes << " at " << ns;
      ASSERT_LE(ms, kDayMs);
      before = ms;
    }
  }
}

TEST_F(Rent, MoreBytesAtOnceAreNeverKeptLonger) {
  for (const uint64_t ns : {0u, 8500u, 640000u, 5140000u}) {
    price(ns);
    uint64_t before = UINT64_MAX;
    for (size_t bytes = 1; bytes <= size_t{1} << 47; bytes += bytes / 7 + 1) {
      const uint64_t ms = hak_rent_ms(bytes);
      ASSERT_LE(ms, before) << bytes << " at " << ns;
      before = ms;
    }
    EXPECT_LE(hak_rent_ms(SIZE_MAX), before);
  }
}

TEST_F(Rent, FreeRentIsADayAndTheDearestIsNoTime) {
  price(0);
  for (unsigned log = 0; log <= 47; log++) EXPECT_EQ(hak_rent_ms(size_t{1} << log), kDayMs) << log;
  pressure(3);
  EXPECT_EQ(hak_rent_ms(kTwoMiB), kDayMs) << "eight times nothing";
  for (const uint64_t shift : {0u, 3u}) {
    pressure(shift);
    price(kDearest);
    for (unsigned log = 0; log <= 47; log++) EXPECT_EQ(hak_rent_ms(size_t{1} << log), 0u) << log;
  }
}

TEST_F(Rent, PressureIsAPriceEightTimesAsHigh) {
  for (size_t bytes = 1; bytes <= size_t{1} << 47; bytes *= 2) {
    price(8 * 8500);
    pressure(0);
    const uint64_t dear = hak_rent_ms(bytes);
    price(8500);
    pressure(3);
    EXPECT_EQ(hak_rent_ms(bytes), dear) << bytes;
  }
}

TEST_F(Rent, NowAndItsTicksComeFromOneCell) {
  g_rent.now_ms = (uint64_t{1} << 32) + 64 * 70000 + 63;
  EXPECT_EQ(hak_rent_tick(), 70000u % 65536);
  g_rent.now_ms = 0;
}

/* ---- how much may stay ---- */

constexpr uint64_t kMiB = uint64_t{1} << 20;

/* Falls by `by` and rises again, at this time. */
void swing(hak_watermark &level, uint64_t by, uint64_t now_ms) {
  const uint64_t live = level.live;
  hak_watermark_note(&level, live - by, now_ms);
  hak_watermark_note(&level, live, now_ms);
}

TEST_F(Rent, WhatFellAndWasTakenAgainMayStayForItsTime) {
  hak_watermark level = {};
  hak_watermark_set_rent(&level, 800);
  hak_watermark_note(&level, 100 * kMiB, 1000);
  EXPECT_EQ(hak_watermark_keep_limit(&level, HAK_WATERMARK_LEAST, 0), 0u);
  for (int i = 0; i < 3; i++) swing(level, 60 * kMiB, 1000);
  hak_watermark_note(&level, 40 * kMiB, 1000);
  EXPECT_EQ(hak_watermark_keep_limit(&level, HAK_WATERMARK_LEAST, 0), 60 * kMiB);
  EXPECT_EQ(hak_watermark_keep_limit(&level, HAK_WATERMARK_LEAST, 25), 60 * kMiB) << "all of it fits";
  hak_watermark_note_misfit(&level, 20 * kMiB);
  EXPECT_EQ(hak_watermark_keep_limit(&level, HAK_WATERMARK_LEAST, 25), 80 * kMiB) << "as much as did not fit";
  hak_watermark_note_misfit(&level, 20 * kMiB);
  const auto slack = static_cast<double>(hak_watermark_keep_limit(&level, HAK_WATERMARK_LEAST, 25));
  EXPECT_NEAR(slack, 85 * kMiB, 100) << "a quarter of the most";
  hak_watermark_note(&level, 40 * kMiB, 1699);
  EXPECT_EQ(hak_watermark_keep_limit(&level, HAK_WATERMARK_LEAST, 0), 60 * kMiB) << "within 7/8 of the time";
  hak_watermark_note(&level, 40 * kMiB, 1801);
  EXPECT_EQ(hak_watermark_keep_limit(&level, HAK_WATERMARK_LEAST, 10), 0u) << "and no longer than the time";
}

TEST_F(Rent, AClockThatWasSetBackBeginsAnew) {
  hak_watermark level = {};
  hak_watermark_set_rent(&level, 800);
  hak_watermark_note(&level, 100 * kMiB, 500000);
  hak_watermark_note(&level, 40 * kMiB, 500000);
  for (int i = 0; i < 3; i++) swing(level, 20 * kMiB, 500000);
  hak_watermark_note(&level, 40 * kMiB, 499950);
  EXPECT_EQ(hak_watermark_keep_limit(&level, HAK_WATERMARK_LEAST, 0), 60 * kMiB) << "another thread's clock";
  hak_watermark_note(&level, 40 * kMiB, 1000);
  EXPECT_EQ(level.most, 40 * kMiB) << "another clock";
  hak_watermark_note(&level, 50 * kMiB, 1000);
  hak_watermark_note(&level, 40 * kMiB, 1850);
  hak_watermark_note(&level, 40 * kMiB, 2800);
  EXPECT_EQ(level.most, 40 * kMiB) << "and its time passes";
}

/* What may stay for ever: steps of levels that were taken again four times in a row, however long the rises took. */
TEST_F(Rent, WithoutHelpFourRisesProveALevel) {
  hak_watermark level = {};
  hak_watermark_set_rent(&level, 2000);
  hak_watermark_note(&level, 64 * kMiB, 1000);
  uint64_t now = 1000;
  for (uint64_t rises = 0; rises <= 5; rises++, now += 1600) {
    hak_watermark_note(&level, 0, now);
    EXPECT_EQ(hak_watermark_bounded(&level, 64 * kMiB, 16 * kMiB), (rises < 4 ? 16 : 64) * kMiB) << rises << " rises";
    hak_watermark_note(&level, 64 * kMiB, now);
  }
  hak_watermark_note(&level, 64 * kMiB, now += 4500);
  hak_watermark_note(&level, 0, now);
  EXPECT_EQ(hak_watermark_bounded(&level, 64 * kMiB, 16 * kMiB), 16 * kMiB) << "a pause of T begins anew";
}

/* Once is enough where fetching the bytes taken again would take a twentieth of the time. */
TEST_F(Rent, WithoutHelpOneFastRiseProvesALevel) {
  for (const uint64_t ms : {100, 1500, 2000}) {
    hak_watermark level = {};
    hak_watermark_set_rent(&level, 8000);
    hak_watermark_note(&level, 160 * kMiB, 1000);
    hak_watermark_note(&level, 0, 1000);
    hak_watermark_note(&level, 160 * kMiB, 1000);
    hak_watermark_note(&level, 150 * kMiB, 1000 + ms);
    hak_watermark_note(&level, 0, 1000 + ms);
    EXPECT_EQ(hak_watermark_bounded(&level, 160 * kMiB, 16 * kMiB), (ms <= 1500 ? 160 : 16) * kMiB) << ms << " ms";
  }
}

/* Replaced blocks at the bottom prove nothing above them, however many. */
TEST_F(Rent, WithoutHelpEachLevelIsProvedByItself) {
  hak_watermark level = {};
  hak_watermark_set_rent(&level, 8000);
  hak_watermark_note(&level, 20 * kMiB, 1000);
  for (uint64_t i = 0; i < 3000; i++) swing(level, kMiB, 1000 + i / 10);
  for (const uint64_t now : {1300, 6400, 11500}) {
    hak_watermark_note(&level, 166 * kMiB, now);
    hak_watermark_note(&level, 20 * kMiB, now + 1000);
  }
  EXPECT_EQ(hak_watermark_bounded(&level, 146 * kMiB, 16 * kMiB), 16 * kMiB);
}

/* A supposed rise counts as reuse, and leaves the proofs alone. */
TEST_F(Rent, ASupposedRiseProvesNothing) {
  hak_watermark level = {};
  hak_watermark_set_rent(&level, 2000);
  hak_watermark_note(&level, 160 * kMiB, 1000);
  hak_watermark_note(&level, 10 * kMiB, 1000);
  for (int i = 0; i < 9; i++) {
    const hak_watermark was = level;
    hak_watermark_suppose(&level, 200 * kMiB);
    EXPECT_EQ(level.most, 200 * kMiB);
    EXPECT_EQ(level.reused, was.reused + 150 * kMiB);
    level.live = was.live, level.most = was.most, level.reused = was.reused;
  }
  EXPECT_EQ(hak_watermark_bounded(&level, 150 * kMiB, 16 * kMiB), 16 * kMiB);
}

TEST_F(Rent, OfWhatWasNeverTakenAgainALittleMayStay) {
  hak_watermark level = {};
  hak_watermark_set_rent(&level, 800);
  hak_watermark_note(&level, 100 * kMiB, 1000);
  hak_watermark_note(&level, 10 * kMiB, 1000);
  EXPECT_EQ(hak_watermark_keep_limit(&level, HAK_WATERMARK_LEAST, 30), HAK_WATERMARK_LEAST);
  hak_watermark_note(&level, 30 * kMiB, 1000);
  EXPECT_EQ(hak_watermark_keep_limit(&level, HAK_WATERMARK_LEAST, 0), 20 * kMiB) << "as much as was taken again";
}

/* The sliding maximum beside a list of all that was noted. */
TEST_F(Rent, TheMostOfLateIsOneOfTheLastSevenToEightParts) {
  std::mt19937 random(3);
  std::vector<std::pair<uint64_t, uint64_t>> noted;
  hak_watermark level = {};
  hak_watermark_set_rent(&level, 400);
  uint64_t now = 5000;
  for (int i = 0; i < 5000; i++) {
    now += random() % 100 == 0 ? random() % 2000 : random() % 30;
    hak_watermark_note(&level, random() % 1000, now);
    noted.emplace_back(now, level.live);
    uint64_t surely = level.live, at_most = 0;
    for (size_t k = 0; k < noted.size(); k++) {
      const uint64_t until = k + 1 < noted.size() ? noted[k + 1].first : now;
      if (until + 350 > now) surely = std::max(surely, noted[k].second);
      if (until + 450 >= now) at_most = std::max(at_most, noted[k].second);
    }
    ASSERT_GE(level.most, surely) << "step " << i;
    ASSERT_LE(level.most, at_most) << "step " << i;
    if (noted.size() > 300) noted.erase(noted.begin(), noted.begin() + 100);
  }
}

/* ---- the footprint ---- */

TEST_F(Rent, TheFootprintIsWhatMayBeResidentAndNotWhatIsOnlyClaimed) {
  g_footprint = {.span = 1000, .big = 500, .claimed = 700, .empty = 300, .dirty = 300, .big_cached = 100, .may_idle = 0, .ahead = 0, .foreseen = 0, .spare = 0};
  EXPECT_EQ(hak_footprint(), 1200u);
  EXPECT_TRUE(hak_footprint_idles());
  g_footprint.may_idle = 300;
  EXPECT_FALSE(hak_footprint_idles());
  g_footprint.may_idle = 299;
  EXPECT_TRUE(hak_footprint_idles());
}

TEST_F(Rent, TheHardLimitAllowsNoByteMore) {
  g_footprint = {.span = 1000, .big = 400, .claimed = 100, .empty = 300, .dirty = 0, .big_cached = 0, .may_idle = 0, .ahead = 0, .foreseen = 0, .spare = 0};
  EXPECT_TRUE(hak_footprint_allows(UINT64_MAX)) << "there is none";
  g_settings.hard_limit = 1600;
  EXPECT_TRUE(hak_footprint_allows(100));
  EXPECT_FALSE(hak_footprint_allows(101));
  EXPECT_FALSE(hak_footprint_allows(UINT64_MAX));
  g_settings.hard_limit = 1400;
  EXPECT_FALSE(hak_footprint_allows(0)) << "in use already";
}

}  // namespace

/* Many small parts of 100 MiB are replaced, then all of it is freed: 90 MiB were taken again, but never as a whole. */
TEST_F(Rent, WithoutHelpTheLevelsCountThatWereTakenAgain) {
  hak_watermark level = {};
  hak_watermark_set_rent(&level, 800);
  hak_watermark_note(&level, 100 * kMiB, 1000);
  for (int i = 0; i < 30; i++) swing(level, 3 * kMiB, 1000);
  hak_watermark_note(&level, 0, 1000);
  EXPECT_EQ(hak_watermark_keep_limit(&level, HAK_WATERMARK_LEAST, 0), 90 * kMiB) << "help may come";
  EXPECT_EQ(hak_watermark_bounded(&level, hak_watermark_keep_limit(&level, HAK_WATERMARK_LEAST, 28), 16 * kMiB), 16 * kMiB) << "no help comes";
  for (uint64_t rises = 1; rises <= 4; rises++) {
    hak_watermark_note(&level, 100 * kMiB, 1000 + 100 * rises);
    hak_watermark_note(&level, 0, 1000 + 100 * rises);
  }
  EXPECT_EQ(hak_watermark_bounded(&level, 100 * kMiB, 16 * kMiB), 100 * kMiB) << "it grew and fell in turn";
}

/* However often it was taken again: it may stay for ever. */
TEST_F(Rent, WithoutHelpABoundHoldsForWhatWasTakenAgain) {
  const uint64_t helper = g_settings.background_thread;
  hak_watermark level = {};
  hak_watermark_set_rent(&level, 800);
  for (uint64_t rises = 1; rises <= 9; rises++) {
    hak_watermark_note(&level, 800 * kMiB, 1000 + 100 * rises);
    hak_watermark_note(&level, 0, 1000 + 100 * rises);
  }
  ASSERT_EQ(hak_watermark_bounded(&level, 800 * kMiB, HAK_RENT_UNHELPED), 800 * kMiB);
  g_settings.background_thread = 0;
  EXPECT_EQ(hak_rent_keep_limit(&level, 0), HAK_RENT_PROVED);
  g_settings.background_thread = helper;
}

TEST_F(Rent, WhatCachesHeldWasNotLive) {
  hak_watermark level = {};
  hak_watermark_set_rent(&level, 800);
  hak_watermark_note(&level, 100 * kMiB, 1000);
  hak_watermark_discount(&level, 30 * kMiB);
  EXPECT_EQ(level.live, 70 * kMiB);
  EXPECT_EQ(level.most, 70 * kMiB);
}
