/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memory_limit_test.cpp: limits set from outside, and the times of reading the limits again.
 *
 * what      retain/memory_limit.c over made folders that look like a control group, and the fake kernel (fake_os.h)'s
 *           clock.
 * owner     Each test has a folder and a separate process: a complaint is printed once per process.
 * failure   A wrong step, price or cache, an extra or a missing line fails the test.
 * not here  The files' contents: limits_test.cpp. Releases near a limit: tests/process.
 */
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

extern "C" {
#include "fake_os.h"
#include "retain/memory_limit.h"
#include "retain/footprint.h"
#include "retain/rent.h"
#include "tables/settings.h"
}

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20, kGiB = kMiB << 10;
constexpr uint64_t kFirstAsk = 32 * kMiB, kCachePerCpu = 16 * kMiB;

class Pressure : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "hak_memory_limit_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    home_ = pattern;
    ASSERT_LT(home_.size(), size_t{HAK_SETTING_PATH_BYTES});
    g_settings.cgroup_dir = home_.c_str();
    fake_os.now_ms = 5000;
    write("cpu.max", "100000 100000\n");
    hak_memory_limit_look();
    hak_memory_limit_start();
  }
  void TearDown() override { std::filesystem::remove_all(home_); }

  void write(const std::string &file, const std::string &text) { std::ofstream(home_ + "/" + file) << text; }
  void group(uint64_t limit, uint64_t used) {
    write("memory.max", std::to_string(limit) + "\n");
    write("memory.current", std::to_string(used) + "\n");
  }

  /* Reads the limits; said_ holds the output. */
  bool ask(uint64_t footprint) {
    testing::internal::CaptureStderr();
    const bool answer = hak_memory_limit_ask(footprint);
    said_ = testing::internal::GetCapturedStderr();
    return answer;
  }
  bool ask_in_silence(uint64_t footprint) {
    const bool answer = ask(footprint);
    EXPECT_EQ(said_, "");
    return answer;
  }

  void expect_pressed() {
    EXPECT_EQ(g_rent.pressure, 3u);
    EXPECT_EQ(g_memory_limit.cache_bytes, kCachePerCpu / 4);
  }
  void expect_at_ease() {
    EXPECT_EQ(g_rent.pressure, 0u);
    EXPECT_EQ(g_memory_limit.cache_bytes, kCachePerCpu);
  }

  std::string home_, said_;
};

TEST_F(Pressure, WithoutALimitOnlyTheFootprintAsksAgain) {
  EXPECT_FALSE(hak_memory_limit_is_due(kFirstAsk - 1));
  EXPECT_TRUE(hak_memory_limit_is_due(kFirstAsk));
  EXPECT_FALSE(ask_in_silence(40 * kMiB));
  expect_at_ease();
  EXPECT_FALSE(hak_memory_limit_is_due(40 * kMiB + kFirstAsk - 1));
  EXPECT_TRUE(hak_memory_limit_is_due(40 * kMiB + kFirstAsk));
  hak_memory_limit_taken(uint64_t{1} << 60);
  EXPECT_EQ(g_memory_limit.taken_bytes, 0u) << "nobody counts";
}

TEST_F(Pressure, MuchRoomMeansLongSteps) {
  group(kGiB, 100 * kMiB);
  EXPECT_FALSE(ask_in_silence(80 * kMiB));
  expect_at_ease();
  EXPECT_EQ(g_memory_limit.ask_at, 80 * kMiB + 924 * kMiB / 4) << "a quarter of the room";
  EXPECT_FALSE(g_memory_limit.limited) << "more is left than is in use";
}

TEST_F(Pressure, ALimitBelowTheUseLeavesNoRoom) {
  group(kMiB, 5 * kMiB);
  EXPECT_TRUE(ask_in_silence(40 * kMiB));
  EXPECT_TRUE(g_memory_limit.limited);
  EXPECT_EQ(g_memory_limit.ask_at, 41 * kMiB) << "the least step";
  EXPECT_EQ(g_memory_limit.ask_after, kMiB);
}

TEST_F(Pressure, LittleRoomMeansShortStepsThatAreCounted) {
  group(kGiB, 600 * kMiB);
  EXPECT_FALSE(ask_in_silence(500 * kMiB));
  expect_at_ease();
  EXPECT_TRUE(g_memory_limit.limited);
  EXPECT_EQ(g_memory_limit.ask_at, 500 * kMiB + 424 * kMiB / 4);
  EXPECT_EQ(g_memory_limit.ask_after, 424 * kMiB / 2);
  hak_memory_limit_taken(200 * kMiB);
  EXPECT_FALSE(hak_memory_limit_is_due(500 * kMiB));
  hak_memory_limit_taken(12 * kMiB);
  EXPECT_TRUE(hak_memory_limit_is_due(500 * kMiB)) << "as much was taken as half of the room";
  EXPECT_FALSE(ask_in_silence(500 * kMiB));
  EXPECT_FALSE(hak_memory_limit_is_due(500 * kMiB)) << "and is counted anew";
}

TEST_F(Pressure, StepsDoNotVanishAtTheLimit) {
  group(kGiB, kGiB);
  EXPECT_TRUE(ask_in_silence(900 * kMiB));
  EXPECT_EQ(g_memory_limit.ask_at, 900 * kMiB + kGiB / 64);
  EXPECT_EQ(g_memory_limit.ask_after, kGiB / 64);
  group(16 * kMiB, 16 * kMiB);
  EXPECT_TRUE(ask_in_silence(16 * kMiB));
  EXPECT_EQ(g_memory_limit.ask_at, 17 * kMiB) << "a MiB at least";
}

TEST_F(Pressure, NearIsTheLastSixteenth) {
  group(kGiB, kGiB / 16 * 15);
  EXPECT_FALSE(ask_in_silence(kMiB));
  expect_at_ease();
  group(kGiB, kGiB / 16 * 15 + 1);
  EXPECT_TRUE(ask_in_silence(kMiB));
  expect_pressed();
  group(kGiB, kGiB / 2);
  EXPECT_FALSE(ask_in_silence(kMiB));
  expect_at_ease();
}

TEST_F(Pressure, DearerMemoryIsKeptForAnEighthOfTheTime) {
  group(kGiB, kMiB);
  ask_in_silence(kMiB);
  const uint64_t before = hak_rent_ms(2 * kMiB);
  group(kGiB, kGiB);
  ask_in_silence(kMiB);
  EXPECT_EQ(hak_rent_ms(2 * kMiB), before / 8);
}

TEST_F(Pressure, TheLimitThatThrottlesCountsAsTheOneThatKills) {
  group(kGiB, 200 * kMiB);
  write("memory.high", std::to_string(208 * kMiB) + "\n");
  EXPECT_TRUE(ask_in_silence(kMiB));
  expect_pressed();
}

TEST_F(Pressure, IdleFileCacheIsRoom) {
  group(kGiB, kGiB);
  write("memory.stat", "anon 1\nfile 2\ninactive_file " + std::to_string(kGiB / 2) + "\nactive_file 3\n");
  EXPECT_FALSE(ask_in_silence(kMiB));
  expect_at_ease();
}

TEST_F(Pressure, MoreThanATenthOfWaitingIsPressure) {
  write("memory.pressure", "some avg10=10.00 avg60=0.00 avg300=0.00 total=0\n");
  EXPECT_FALSE(ask_in_silence(kMiB));
  expect_at_ease();
  write("memory.pressure", "some avg10=10.01 avg60=0.00 avg300=0.00 total=0\n");
  EXPECT_TRUE(ask_in_silence(kMiB));
  expect_pressed();
}

TEST_F(Pressure, TheUsersLimitsAreMeasuredByTheFootprint) {
  for (uint64_t *limit : {&g_settings.soft_limit, &g_settings.hard_limit}) {
    *limit = 160 * kMiB;
    EXPECT_FALSE(ask_in_silence(150 * kMiB));
    expect_at_ease();
    EXPECT_EQ(g_memory_limit.ask_at, 150 * kMiB + 160 * kMiB / 64) << "a quarter of ten MiB, and no less than this";
    EXPECT_TRUE(ask_in_silence(150 * kMiB + 1));
    expect_pressed();
    *limit = 0;
  }
}

TEST_F(Pressure, TheSmallestRoomSetsTheSteps) {
  group(kGiB, 900 * kMiB);
  g_settings.soft_limit = 400 * kMiB;
  g_settings.hard_limit = 200 * kMiB;
  EXPECT_FALSE(ask_in_silence(100 * kMiB));
  EXPECT_EQ(g_memory_limit.ask_at, 125 * kMiB) << "the hard limit's 100 MiB, though the group has a smaller share left";
  g_settings.hard_limit = 0;
  EXPECT_FALSE(ask_in_silence(100 * kMiB));
  EXPECT_EQ(g_memory_limit.ask_at, 131 * kMiB) << "the group's 124 MiB";
}

TEST_F(Pressure, ALimitBelowWhatIsInUseIsToldOnce) {
  group(kGiB, kGiB);
  g_settings.soft_limit = 2 * kMiB;
  EXPECT_TRUE(ask(2 * kMiB));
  EXPECT_EQ(said_, "") << "just in use";
  EXPECT_TRUE(ask(3 * kMiB));
  EXPECT_EQ(said_, "hakmem: soft_limit of 2097152 bytes is below the 3145728 in use\n");
  EXPECT_TRUE(ask(4 * kMiB));
  EXPECT_EQ(said_, "");
  g_settings.hard_limit = kMiB;
  group(kMiB, 5 * kMiB);
  EXPECT_TRUE(ask(4 * kMiB));
  EXPECT_EQ(said_, "hakmem: hard_limit of 1048576 bytes is below the 4194304 in use\n")
      << "and no word of the group: to be above memory.high is usual";
  EXPECT_TRUE(ask(4 * kMiB));
  EXPECT_EQ(said_, "");
}

TEST_F(Pressure, CachesFollowTheProcessors) {
  write("cpu.max", "max 100000\n");
  ask_in_silence(kMiB);
  const uint64_t all = g_memory_limit.cache_bytes;
  EXPECT_GE(all, kCachePerCpu);
  EXPECT_EQ(all % kCachePerCpu, 0u);
  EXPECT_FALSE(all == UINT64_MAX) << "the start, before anybody asked";
}

/* ---- looking ---- */

TEST_F(Pressure, ASmallProcessReadsNoFile) {
  group(kMiB, 2 * kMiB);
  testing::internal::CaptureStderr();
  g_footprint.big = kFirstAsk - 1;
  EXPECT_FALSE(hak_memory_limit_ask_seldom());
  EXPECT_EQ(g_memory_limit.asked_ms, 0u);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Pressure, ALookAsksOnceASecond) {
  group(kGiB, kGiB);
  g_footprint.big = kFirstAsk;
  EXPECT_TRUE(hak_memory_limit_ask_seldom());
  EXPECT_EQ(g_memory_limit.asked_ms, 5000u);
  fake_os.now_ms = 5999;
  EXPECT_FALSE(hak_memory_limit_ask_seldom());
  expect_pressed();
  group(kGiB, kMiB);
  fake_os.now_ms = 6000;
  EXPECT_FALSE(hak_memory_limit_ask_seldom());
  EXPECT_EQ(g_memory_limit.asked_ms, 6000u);
  expect_at_ease();
}

TEST_F(Pressure, ALimitOfTheUsersIsLookedAtHoweverSmallTheProcess) {
  g_settings.soft_limit = kMiB;
  g_footprint.big = kMiB;
  EXPECT_TRUE(hak_memory_limit_ask_seldom());
  expect_pressed();
}

TEST_F(Pressure, ANewLimitIsAskedAboutAtOnce) {
  g_settings.soft_limit = 100 * kMiB;
  EXPECT_TRUE(hak_memory_limit_reset());
  EXPECT_TRUE(hak_memory_limit_is_due(0));
  g_settings.soft_limit = 0;
  EXPECT_FALSE(hak_memory_limit_reset());
  EXPECT_FALSE(hak_memory_limit_is_due(kFirstAsk - 1));
}

}  // namespace
